// Package fold makes tables of the log: leases, ranges of jobs without one, claims, history, counts and usage.
//
//	Log ──Read after folded──▶ Build(batches, Known) ──▶ Changes ──one transaction──▶ tables and folded
//
// Build is pure, but that Known learns users and cores: the same batches and the same rows give the same changes. Folder reads the rows that a
// step needs, by primary key, and writes the changes with a statement or a COPY a table, however many entries the step has.
//
// # The tables
//
//	held          a row a lease that has not ended, as it was granted. One shorter than a step is never a row
//	kills, moves  what was said of leases since, a row an entry, however many they are: orders to end, another share or place.
//	              They go with the task's last lease. leases_now shows held with them
//	idle_ranges   the live jobs without a lease: ranges of ids that are alike, ready, paused or waiting (a rule decides
//	              later). Every job is in at most one range, or held, or over
//	paused_tasks  tasks whose jobs get no slots
//	history       a row an attempt that ended, by the day (UTC); the last one of a job has the job's final state, or
//	over_ranges   has it: jobs that were over without a lease, killed or given up
//	claims        those that are live or ended lately, claim_parties and claim_jobs: who holds them. Package gate says what becomes of them
//	task_counts   jobs of a task by state; share_counts: ready and held jobs by share, shape and queue
//	end_counts    attempts that ended, by hour, share, shape, queue, outcome and final state of the job
//	hour_usage, day_usage, task_usage   what attempts cost, see Usage; a lease that was moved costs each share its part
//	node_usage      the same by node, of attempts that ended before rolled.at: made of history by RollNodes
//	expected, latest   jobs that generators have still to make; the newest entry of each other kind and key, as JSON
//	steps         which tasks each step changed, for whoever follows: Changed
//	attempt_texts   what people read of ends: written beside the append, made and dropped here with the days of history
//	folded        the batch up to which the tables are made: one row
//
// All but history, over_ranges and usage is the snapshot from which a daemon starts (Load); what the log has after folded is its tail.
//
// # Invariants
//
//  1. The tables are what the batches from 1 to folded.seq make of empty ones, whatever the steps were and whoever took them.
//     Compare folds the log anew in memory and says where the tables differ; CompareSince does so from a checkpoint. Only steps depends on how
//     the log was cut.
//  2. A step begins by moving folded from the batch that it read after. Whoever finds another seq or id there changes nothing:
//     of two that fold the same step one loses, after it waited for the other. So readers see ends in the order of the log.
//  3. The first batch of a step follows the folded one by its After. Else the log has lost commits, and ErrDiverged says so: the
//     tables know more than the log, and only a person can decide.
//  4. Ranges are disjoint and as long as they can be: no two neighbours are alike. task_counts has the sums of their lengths.
//  5. Counts are sums of what entries say; no clock but the At of batches goes into a row.
//  6. An entry that does not fit (a grant of a job that is not idle, an end without a lease) changes nothing, whatever the
//     step, and is told by Result.Odd; it never stops the fold, which would stop everything. Of claims a step knows a part (see Claims).
//  7. Killed and Closed end jobs without a lease, and with that their part in claims: no Dropped follows for them.
//
// # Costs
//
// What remains of a life of one attempt is a row of history with an entry in an index, 181 bytes. PostgreSQL's part of it depends on
// the entries a step, for counts and usage have a row a key and step (append and fold, go test -bench Life):
//
//	batches of 85 lives a step            8          24         48         200
//	leases shorter than a step   25 µs, 613 B   15 µs, 395 B   12 µs, 328 B   9 µs, 277 B of WAL
//	leases that are rows of held               25 µs, 654 B                18 µs, 546 B
//
// So a quiet site takes fewer steps, not smaller ones. steps costs 5 B of it; an index of history on task would cost 68. A row of node_usage
// in each step would cost 7 to 9 µs and 165 to 250 B. A million rows of held are read in 1 s, and counted for another share in 2 s.
package fold
