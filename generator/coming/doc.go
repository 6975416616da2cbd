// Package coming tells the log how many jobs are still to be made. A slot that asks then waits for the jobs of the share whose turn it is,
// and does not pass to the next share.
//
//	tasks are inserted ──Say──▶ outbox ◀──Teller.Correct── current tasks, compared with the log
//
// # Invariants
//
//  1. The transaction that inserts tasks also announces their jobs: before the first of them is made, and before later jobs of others.
//  2. The log subtracts the jobs that were made. Other changes (limits, lots, tasks that end) are corrected some seconds later.
package coming
