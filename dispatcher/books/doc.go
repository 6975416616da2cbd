// Package books keeps the books of the site in force: the units held of its queues and pools, the hard limits on them, what each leaf could
// still use, and what shares and their users have missed and were granted.
//
//	New(version, moment) ──▶ Site ──Queue, Pool──▶ Limit.Room
//	Hold(queue, share)   ──▶ counts units at queue, target slots, pool, path and leaf; Freed hears of limits with more room
//	Reach.Want           ──▶ what a leaf could use in a pool, by the queues that may run its work
//
// # Invariants
//
//  1. All counts follow from Held, which no change of the site touches: a new Site counts everything anew.
//  2. A leaf wants no more than the slots of the queues that may run its work: ready jobs that no queue can run are no demand.
//  3. Lags, turns and last grants move from site to site by the names of shares, users and pools.
//  4. Which slots may run a job is a function of its requirements, the site and the share (Fit, Policy), not of the single job.
//
// The package is pure, and for one goroutine at a time. It decides nothing: package machine does.
package books
