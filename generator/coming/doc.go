// Package coming tells the log how many jobs are still to be made. A slot that asks waits for the jobs of the share that comes first, in place
// of going past it.
//
//	tasks are inserted ──Say──▶ outbox ◀──Teller.Correct── tasks as they are by now, beside what the log has
//
// # Invariants
//
//  1. What comes with tasks is said in their transaction: before the first of their jobs is made, and before those of others that stand behind.
//  2. The log takes off by itself what was made. What changes else (limits, lots, tasks that end) is corrected, some seconds later.
package coming
