// Package retry decides what becomes of attempts that did not finish, and which running attempts end so that another share gets its units
// back. It is pure: values in, values out, no SQL, clock, lock or context. Package shares/retry, called policy here, defines what a site and
// a task may say about retries.
//
//	an attempt ends, and rules may have a say ──▶ Judge ──▶ over, again (maybe with other requirements), later, or to be split
//	attempts end ──▶ Counts ──▶ Found ──▶ Hole       a queue that fails nearly all that it gets
//	                   └──────▶ Probed ──▶ Hole.Note, Hole.Over
//	Snapshots of pools ──▶ Round ──▶ Choose, among Young ──▶ Orders
//
// Package rules handles attempts that none of these concerns.
//
// # Invariants
//
// Of retries:
//
//  1. Judge is total: same values, same answer.
//  2. A returned attempt is not charged: its number rises, since it is the fence, and so does the bound. Every other
//     attempt is charged; no job starts more than max_attempts charged ones.
//  3. Rules, terms and bounds of a task apply only while a job has attempts left.
//  4. Requirements change only where some queue can run the job then, or none could before.
//
// Of black holes:
//
//  5. A queue is found only if at least half of the attempts of the same shapes, and five of them, finished at other queues that
//     are neither suspected nor known. Attempts that were called off count nowhere.
//  6. Counts forgets after a window and a half at most.
//  7. A black hole ends after three good attempts in a row, or when jobs ran there for a window without a failure.
//
// Of reclaims (shares.Pool.Victims has the rules for one ask):
//
//  8. Open orders count as carried out, and units that came free count as the claimer's for a minute, so nothing is
//     ordered twice for one need.
//  9. No order takes a job below the floor of its queue, and no round gives a job two orders.
//  10. A plan gives no more orders than its rate allows, and a round no more than MostOrders; with MostOpen open orders there are none.
//  11. A pool that holds more than its capacity gives no snapshot, since units that end there go to no share.
package retry
