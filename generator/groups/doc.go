// Package groups gives jobs of tasks with groups and roles their claims, and scales such tasks.
//
//	Join: jobs of a batch ──▶ names, shapes, claims          Lock, Task.Scale: other numbers ──▶ pieces to come, jobs to cancel
//
// # Invariants
//
//  1. A name identifies a job. Scaling keeps names and moves places in the layout.
//  2. A retried job holds the same claims. A claim that has ended is made again, for the retried jobs only.
//  3. Scaling ends no running job. It cancels jobs that wait, or does not make them; their claims end with the last job that holds them.
package groups
