// Package ready keeps the ready jobs in the order in which a share gives them, as ranges of ids in memory, so that a decision reads no rows
// even if millions of jobs wait.
//
//	Put(key, range) ──▶ Set ──Buffer(key).First──▶ the job that (share, shape) gives next
//	Take(key, place, job)  ──▶ a grant takes one job out of its range
//	Withdraw(task, low, high) ──▶ a verb takes many, wherever they are: each task has its ranges by id too
//
// A Buffer holds the ready jobs of one share and shape, by order key and then by id. Generators give the jobs of a
// batch consecutive ids, so ten million jobs are some ten thousand ranges; a job that comes back is a range of its
// own until it meets its neighbours again. A Set also knows the ready jobs of every task, and the tasks of every
// user, for pulls of one task or user.
//
// Aside holds the jobs without a lease that no slot may have: those of paused tasks, and those that wait for a rule.
// It keeps ranges, too, so that pausing a task moves ranges, however many jobs they hold.
//
// # Invariants
//
//  1. No job is in two ranges.
//  2. Ranges of one task, place and attempt that touch are one range: equal sets of jobs are equal sets of ranges.
//  3. Count of a buffer is the number of jobs in its ranges.
//  4. A buffer stays when its last job is gone; a task does not.
//
// First, Take of the first job and Put behind all others cost O(log ranges); none of them depends on the number of jobs.
//
// The package is pure, and for one goroutine at a time.
package ready
