// Package recount counts again what a run of divvy-bench has left in its database, and says what is wrong. It reads only, by a pool or in a
// transaction, and knows no daemon.
//
// # What is checked
//
//  1. No job was claimed twice (Once), none is lost, none is there twice; all that clients were given is leased and nothing else is.
//  2. Counts of shares and tasks equal a recount of the tables. The caller has all of the log folded first.
//  3. No queue, pool or share holds more than its hard limit (OverLimits).
//  4. Where nothing moves, every share is within its bound of sharing.md §2 (Stand.AtRest).
//
// What does not hold is an *Error: a run that cannot be believed, whose figures are not shown.
package recount
