// Package fold makes tables of the log: leases, ranges of jobs without one, history, counts and usage.
//
//	Log ──Read after folded──▶ Build(batches, Known) ──▶ Changes ──one transaction──▶ tables and folded
//
// Build is pure: the same batches and the same rows give the same changes. Folder reads the rows that a step needs, by primary
// key, and writes the changes with a statement or a COPY a table, however many entries the step has.
//
// # The tables
//
//	held          a row a lease that has not ended. One shorter than a step is never a row
//	idle_ranges   the live jobs without a lease: ranges of ids that are alike, ready, waiting (a rule decides later) or
//	              withdrawn (killed or moved away). Every job is in at most one range, or held, or over
//	history       a row an attempt that ended, by the day (UTC); the last one of a job has the job's final state
//	task_counts   jobs of a task by state; share_counts: ready and held jobs by share, shape and queue
//	end_counts    attempts that ended, by hour, share, shape, queue, outcome and final state of the job
//	hour_usage, day_usage, task_usage   what attempts cost, see Usage
//	node_usage      the same by node, of attempts that ended before rolled.at: made of history by RollNodes
//	expected      jobs that generators have still to make
//	latest        the newest entry of each other kind and key, as JSON: shapes, site, targets, polled queues, leader, time
//	folded        the batch up to which the tables are made: one row
//
// held, idle_ranges, expected and latest are the snapshot from which a daemon starts (Load); what the log has after
// folded is its tail.
//
// # Invariants
//
//  1. The tables are what the batches from 1 to folded.seq make of empty ones, whatever the steps were and whoever took them.
//     Compare folds the log anew in memory and says where the tables differ.
//  2. A step begins by moving folded from the batch that it read after. Whoever finds another seq or id there changes nothing:
//     of two that fold the same step one loses, after it waited for the other.
//  3. The first batch of a step follows the folded one by its After. Else the log has lost commits, and ErrDiverged says so: the
//     tables know more than the log, and only a person can decide.
//  4. Ranges are disjoint and as long as they can be: no two neighbours are alike. task_counts has the sums of their lengths.
//  5. Counts are sums of what entries say; no clock but the At of batches goes into a row.
//  6. An entry that does not fit (a grant of a job that is not idle, an end without a lease) changes nothing, whatever the
//     step, and is told by Result.Odd; it never stops the fold, which would stop everything. A kind without a table is left out.
//
// # Costs
//
// What remains of a life of one attempt is a row of history with an entry in each of two indexes, 187 bytes. PostgreSQL's part of
// it depends on the entries a step, for counts and usage have a row a key and step (append and fold, go test -bench Life):
//
//	batches of 85 lives a step            8          24         48         200
//	leases shorter than a step   25 µs, 700 B   14 µs, 464 B   12 µs, 393 B   9 µs, 339 B of WAL
//	leases that are rows of held               20 µs, 706 B                15 µs, 595 B
//
// So a quiet site takes fewer steps, not smaller ones. Index history_task costs 66 B of WAL a life and 7 B of disk, history_job 80 and
// 40; one on (task, job) in its place 75 and 31. A row of node_usage in each step would cost 7 to 9 µs and 165 to 250 B. Ranges have one
// update of low a step, in which no index takes part. A million rows of held are read in 1 s of PostgreSQL's processor time.
package fold
