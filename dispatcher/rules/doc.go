// Package rules has what the leader does by the rules of the site: it decides what becomes of jobs whose attempts ended, takes units back
// for shares below their targets, holds back queues that fail nearly all that they get, and says what generators should make first. What is
// right in each case is said by package retry, which is pure; here are its values read, and its verdicts written.
//
//	an attempt ends ──▶ Decide ──▶ over, again, or: the job waits
//	it waits ──fold──▶ history ──Judge, page by page──▶ Enqueued, Closed, AwaitSplit, or a row of retries until one of these
//	the machine's View ──▶ Snapshots, Young ──Reclaim──▶ Revoked, Owed, and leases whose pilots did not obey
//	ends counted by Decide ──WatchQueues──▶ Holed
//	the machine's View ──▶ Order, for generators
//
// # Invariants
//
//  1. Decide is certain or has the job wait; a finished attempt ends its job, whatever else is true of it. It knows neither the earlier
//     attempts of a job nor the words of its pilot, and may know an old site or no block of the job: each of these makes jobs wait where
//     Judge would have the last word, and never says another one.
//  2. Each attempt after which a job waits is judged exactly once, in the order of history: the cursor (row of judged) moves in the
//     transaction that writes the verdicts, and is locked by it. An attempt is read when the fold has left its time behind, so none comes
//     before the cursor later.
//  3. Verdicts are rows of the outbox in the transaction that removes their cause: the cursor passes, the row of retries goes, the order or
//     the hole is written. A crash leaves both or none.
//  4. A row of the outbox is about one job, or jobs of a task that are alike: what the machine does not take, it does not take as a whole.
//     Jobs that were killed meanwhile are passed over by it.
//  5. A job is ordered to end once: reclaims has a row an order, whoever gave it. Rates and open orders are read from there, so they hold
//     over a change of leader. Candidates are what the machine has; what claimers have taken is in the tables, which are folded before.
//  6. A lease whose pilot does not obey is returned once it has surely been told (within TTL, or the lease is lost) and had its grace.
//  7. Only ends that this daemon decided as leader are counted (Begin starts anew). What was found is a row of black_holes, written with
//     the Holed entry, and stands over a change of leader.
//  8. Every step is bounded, may run on several daemons at once, and does nothing new when it is repeated.
//
// # Claims
//
// There is no step for claims. A claim without holders lingers in the machine and ends there by Tick; one whose lease was lost is unbound by
// its Ended entry (package gate). Unclaimed is written by who scales a task or deletes a claim. Plans change by Tick as well.
//
// # The tables
//
//	judged       one row: up to which attempt of history waits were judged
//	retries      a row a job that waits for a time
//	judgements   a row an attempt of which a rule or a term of the task said something, for people
//	reclaims     a row an order; closed when the lease is gone, dropped after a week
//	black_holes  a row a queue that gets a job now and then only
//
// Index history_waits is on the fold's table: it has the attempts after which jobs waited, and costs nothing for others.
package rules
