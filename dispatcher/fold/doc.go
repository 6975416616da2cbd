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
//	hour_usage, day_usage, task_usage, node_usage   what attempts cost, see Usage
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
//  6. An entry that does not fit (a grant of a job that is not idle, an end without a lease) changes what it can and is told by
//     Result.Odd; it never stops the fold, which would stop everything. A kind without a table is left out.
//
// # Costs
//
// Of a life of one attempt that is shorter than a step remains one row of history with two index entries. PostgreSQL's
// processor time, WAL and disk a life: go test -bench Life ./dispatcher/fold. Ranges have one update of low a step: only high
// is indexed, so it is HOT. Steps of some thousands of entries are an order cheaper a life than a step a batch.
package fold
