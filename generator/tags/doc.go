// Package tags finds the share of a task: the share that the task names, else the one that the site's rules give to its attributes.
//
//	Of (a new task) · Again (rules only) · Leaf (a path that may hold jobs) · Test (explains each rule) · Past.Retag (past tasks, other rules)
//
// # Invariants
//
//  1. The package writes nothing.
//  2. A returned share is a leaf of the given site version. The caller proves, when it stores the share, that it still is one.
package tags
