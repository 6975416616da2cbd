// Package books keeps the books of the site in force: what is held of its queues and pools, which hard limits bound that, what each
// leaf could still use, and what shares and their users have missed and were given.
//
//	New(version, moment) ──▶ Site ──Queue, Pool──▶ Limit.Room
//	Hold(queue, share)   ──▶ counts units at queue, target slots, pool, path and leaf; Freed hears of limits with more room
//	Reach.Want           ──▶ what a leaf could use in a pool, by the queues that may run its work
//
// # Invariants
//
//  1. What is held here follows from Held, which no change of the site touches: a new Site counts all of it anew.
//  2. A leaf wants no more than the slots of the queues that may run its work: ready jobs that no queue takes are no demand.
//  3. Lags and turns of shares, and who was served last, go from site to site by the names of shares, users and pools.
//  4. Which slots may run jobs is a function of their requirements, the site and the share (Fit, Policy): no job is looked at.
//
// The package is pure, and for one goroutine at a time. It decides nothing: package machine does.
package books
