// Package groups makes jobs of tasks of groups and roles hold their claims, and scales such tasks.
//
//	Join: jobs of a batch ──▶ names, shapes, claims          Lock, Task.Scale: other numbers ──▶ pieces to come, jobs not wanted any more
//
// # Invariants
//
//  1. Jobs are told apart by their names, which stay when the task is scaled; a place in the layout does not.
//  2. A job that is tried again holds the same claims; a claim that is over is made anew, for those alone that are tried again.
//  3. Scaling ends no job that runs; what it takes away is cancelled or not made, and its claims go with the last job that holds them.
package groups
