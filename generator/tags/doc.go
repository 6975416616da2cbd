// Package tags gives tasks their shares: the one that a task names, else what the site's rules say of its attributes.
//
//	Of (a new task) · Again (the rules alone) · Leaf (a path that may hold jobs) · Test (explains, rule by rule) · Past.Retag (past tasks by other rules)
//
// # Invariants
//
//  1. Nothing is written.
//  2. A share that is returned is a leaf of the site that was asked; whoever stores it proves that it still is.
package tags
