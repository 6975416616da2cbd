// Package judge derives the state of a task from the outcomes of its jobs, and ends tasks. A task ends when all generated jobs have ended and
// no more are to come. The table of package generator lists the next states of each state.
//
// # Invariants
//
//  1. Only judge.sql derives a task's state from its jobs.
//  2. A transaction that changes how many jobs are to come judges the task before it commits, under the task's row lock. Locks are taken by id.
//  3. The log does not list an ended task as paused, and its claims expect no more jobs.
package judge
