// Package rules holds what the leader does by the rules of the site. It decides what becomes of jobs whose attempts ended, takes units back
// for shares below their targets, holds back queues that fail nearly all their jobs, and says which jobs generators should make first.
// Package retry, which is pure, makes the decisions; this package reads its inputs and writes its verdicts.
//
//	an attempt ends ──▶ Decide ──▶ over, again, or: the job waits
//	it waits ──fold──▶ history ──Judge, page by page──▶ Enqueued, Closed, AwaitSplit, or a row of retries until one of these
//	the machine's View ──▶ Snapshots, Young ──Reclaim──▶ Revoked, Owed, and leases whose pilots did not obey
//	ends counted by Decide ──WatchQueues──▶ Holed
//	the machine's View ──▶ Order, for generators
//
// # Invariants
//
//  1. Decide is certain or lets the job wait; a finished attempt always ends its job. Decide knows neither the earlier attempts of a job nor
//     the text of its pilot, and may know an old site or no block of the job. In each of these cases the job waits for Judge; Decide never
//     contradicts it.
//  2. Each attempt after which a job waits is judged exactly once, in the order of history: the transaction that writes the verdicts locks
//     and moves the cursor (row of judged). An attempt is read when the fold has passed its time, so none appears before the cursor later.
//  3. Verdicts are rows of the outbox in the transaction that removes their cause: the cursor passes, the row of retries goes, the order or
//     the hole is written. A crash leaves both or none.
//  4. A row of the outbox is about one job, or jobs of a task that are alike: the machine refuses it as a whole. It skips jobs that were
//     killed meanwhile.
//  5. A job is ordered to end once: reclaims has one row for each order, whatever its cause. Rates and open orders are read from there, so
//     they survive a change of leader. Candidates come from the machine; what claimers have taken comes from the tables, which are folded
//     before.
//  6. If a pilot does not obey, its lease is returned once the pilot has surely been told (within TTL, or the lease
//     is lost) and its grace is over.
//  7. Only ends that this daemon decided as leader are counted (Begin starts anew). A black hole is a row of black_holes, written with the
//     Holed entry, and survives a change of leader.
//  8. Every step is bounded, idempotent, and safe on several daemons at once.
//
// # Claims
//
// There is no step for claims. A claim without holders lingers in the machine until Tick ends it; if a lease was lost, its Ended entry
// unbinds the claim (package gate). Scaling a task or deleting a claim writes Unclaimed. Plans change by Tick as well.
//
// # The tables
//
//	judged       one row: up to which attempt of history waits were judged
//	retries      a row a job that waits for a time
//	judgements   a row an attempt of which a rule or a term of the task said something, for people
//	reclaims     a row an order; closed when the lease is gone, dropped after a week
//	black_holes  a row a queue that gets a job now and then only
//
// The index history_waits, on the fold's table, holds the attempts after which jobs waited, and costs nothing for
// others.
package rules
