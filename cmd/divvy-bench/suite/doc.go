// Package suite measures divvy against what PostgreSQL, HTTP and other ways of sharing can do on the same machine
// in the same minutes: 'divvy-bench'. It is no part of serving.
//
//	database of its own ─▶ load (S8) ─▶ daemon ─▶ hold ─▶ rounds: floor, candidate, floor, candidate … ─▶ checks ─▶ figures
//
// # What is promised
//
//  1. Nothing but the database that it makes is touched, and that is dropped in the end: in a private cluster, or on
//     the operator's server. A server with fsync or synchronous_commit off is refused.
//  2. The candidate is the daemon as it is shipped, with all its background work, given by Config.Serve, in this
//     process or, where several are compared or one is weighed, in processes of their own (Daemon). Nothing is
//     switched off; leases last long enough that no pilot has to renew the held jobs.
//  3. Floor and candidate take turns within a run, so that other work on the machine falls on both. The figure is
//     the ratio of the medians of the rounds; all rounds are in the report.
//  4. The HTTP load comes out of a process of its own (Load), the same for the candidate and for the empty handler.
//  5. Before any figure is printed: no job was claimed twice, all that a client was given is leased and nothing else is,
//     no job is lost, counts of shares and tasks equal a recount of the tables once all of the log is folded, and no queue, pool or share
//     holds more than its hard limit. Where several daemons have filled a site, every share is within its bound of
//     sharing.md §2 when nothing moves any more. If a check fails, Run returns a *CheckError and no figure at all.
//     Claims are checked after each round; the recount comes after each measurement, in a brief run once, after the
//     last one of a database.
//  6. What is not measured is said to be not measured.
//
// Between rounds what was claimed is finished and as many jobs are generated anew, through the same doors as in
// production: each round begins with the base data set, and with the history of those before it.
//
// A brief run (Sizes.Brief) makes once what several measurements need. Jobs are generated when a quarter of the ready
// ones has gone. The claims of S2 are those without renewals of S7, in the same turns, and those before the snapshot
// of S6. The base data set is the grown one of S5 and that of S9, where Growth says the same sizes.
//
// Statements on divvy's schema are in sql/; those of the floors, on tables of their own, in peers/.
package suite
