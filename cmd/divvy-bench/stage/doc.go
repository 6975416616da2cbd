// Package stage is a run of divvy-bench under way: a database of its own with a data set, a daemon on it, load against the daemon, and what
// clients were given.
//
//	Run: database ─▶ Load ─▶ Serve ─▶ Hold ─▶ rounds (Claims, Lives), Restore between them ─▶ Measured: recount ─▶ report
//
// # What is promised
//
//  1. Nothing but the database that it makes is touched, and that is dropped in the end: in a private cluster, or on
//     the operator's server. A server with fsync or synchronous_commit off is refused.
//  2. The daemon is the one that is shipped, with all its background work, given by Config.Serve, in this process or, where several are
//     compared or one is weighed, in processes of their own (Daemon). Leases last long enough that no pilot has to renew the held jobs.
//  3. Load comes out of a process of its own.
//  4. Claims are checked after each round, against the leases; package recount does the rest after each measurement, in a brief run once,
//     after the last one of a database.
//
// Between rounds what was claimed is finished and as many jobs are generated anew, through the same doors as in
// production: each round begins with the base data set, and with the history of those before it. A brief run (Sizes.Brief) generates them when
// a quarter of the ready ones has gone.
package stage
