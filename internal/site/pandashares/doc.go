// Package pandashares makes a site file of PanDA's table GLOBAL_SHARES, as CSV or JSON.
//
//	NAME, VALUE, PARENT                                        shares: the tree and its weights, relative among siblings there and here
//	PRODSOURCELABEL WORKINGGROUP CAMPAIGN PROCESSINGTYPE       tags: a rule a leaf, in the order of the table's tree
//	TRANSPATH RTYPE VO
//	ENABLED, ACTIVE, DISABLED                                  rows that are switched off are left out, with their rules
//	THROTTLED                                                  a comment at the share
//	QUEUE_ID and columns that are not known                    left out
//
// # What is promised
//
//  1. A task gets the share that PanDA would give it, as far as a column is not left out: a pattern of PanDA matches the
//     begin of a value, one of a rule all of it, so ".*" is added where the pattern does not end in it or in $. A % of
//     LIKE becomes ".*" first. PanDA takes a task without a working group for one with the group " ", so a pattern that
//     matches that is two rules.
//  2. Every change of a pattern, and all that is left out, is a comment in the file.
//  3. What comes out is a good site file: it has been through site.Parse. What is wrong with the table is reported with
//     file, line and column of the table, all at once.
//
// PanDA asks the leaves in the order in which its database gives them; here it is that of the rows, depth first.
package pandashares
