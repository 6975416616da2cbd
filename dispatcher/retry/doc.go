// Package retry decides what becomes of attempts that did not finish, and which running attempts end so that another share gets
// its units back. It is pure: values in, values out, no SQL, clock, lock or context. What a site and a task may say about retries
// is package shares/retry, called policy here.
//
//	an attempt ends, and rules may have a say ──▶ Judge ──▶ over, again (maybe with other requirements), later, or to be split
//	attempts end ──▶ Counts ──▶ Found ──▶ Hole       a queue that fails nearly all that it gets
//	                   └──────▶ Probed ──▶ Hole.Note, Hole.Over
//	Snapshots of pools ──▶ Round ──▶ Choose, among Young ──▶ Orders
//
// Package rules knows what becomes of attempts in which none of these has a say.
//
// # Invariants
//
// Of retries:
//
//  1. Judge is total: same values, same answer.
//  2. An attempt that is given back is not charged: its number rises, since it is the fence, and so does the bound.
//     Every other one is: no job starts more than its max_attempts of these.
//  3. Rules, terms and bounds of a task have a say only in attempts of jobs that have attempts left.
//  4. Requirements change only where some queue can run the job then, or none could before.
//
// Of black holes:
//
//  5. A queue is found only if at least half of the attempts of the same shapes, and five of them, finished at other queues that
//     are neither suspected nor known. Attempts that were called off count nowhere.
//  6. Counts forgets after a window and a half at most.
//  7. A queue that was found is let go after three good attempts in a row, or when jobs ran there for a window without a failure.
//
// Of reclaims (shares.Pool.Victims has the rules for one ask):
//
//  8. Orders that are open count as carried out, and units that came free count as the claimer's for a minute: nothing is ordered
//     twice for one need.
//  9. No order takes a job below the floor of its queue, and no round gives a job two orders.
//  10. A plan gives no more orders than its rate allows, a round no more than MostOrders; none is given at MostOpen open ones.
//  11. A pool that holds more than its capacity gives no snapshot: what ends there is nobody's.
package retry
