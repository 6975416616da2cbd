// Package retry decides what becomes of attempts that did not finish, and which running attempts end so that another share gets
// its units back. It is pure: values in, values out, no SQL, clock, lock or context. What a site and a task may say about retries
// is package shares/retry, called policy here.
//
//	an attempt ends ──▶ After ──▶ over               finished, killed, not wanted any more, attempts used up, a rule says so
//	                          ├─▶ again              ready at once, maybe with other requirements
//	                          └─▶ waits              for a time, for its piece to be split, or until its attempts have been read:
//	                                                 then Judge says the rest
//	attempts end ──▶ Counts ──▶ Found ──▶ Hole       a queue that fails nearly all that it gets
//	                   └──────▶ Probed ──▶ Hole.Note, Hole.Over
//	Snapshots of pools ──▶ Round ──▶ Next ──▶ Search ──▶ Choose ──▶ Orders
//
// # Invariants
//
// Of retries:
//
//  1. After is total: for every attempt that ended it says over, again or waits. Same values, same answer.
//  2. A finished attempt ends its job, whatever else is true of it.
//  3. An attempt that is given back (Returned) is not charged: its number rises, since it is the fence, and so does the bound.
//     Every other one is: no job starts more than its max_attempts of these.
//  4. Rules, terms and bounds of a task have a say only in attempts that were charged and whose job has attempts left. Where none of them
//     can have a say, the job is ready again at once and no attempts are read.
//  5. Requirements change only where some queue can run the job then, or none could before.
//
// Of black holes:
//
//  6. A queue is found only if at least half of the attempts of the same shapes, and five of them, finished at other queues that
//     are neither suspected nor known. Attempts that were called off count nowhere.
//  7. Counts forgets after a window and a half at most.
//  8. A queue that was found gets one job in each period of the site's probe. It is let go after three good ones in a row, or when
//     jobs ran there for a window without a failure.
//
// Of reclaims (shares.Pool.Victims has the rules for one ask):
//
//  9. Orders that are open count as carried out, and units that came free count as the claimer's for a minute: nothing is ordered
//     twice for one need.
//  10. No order takes a job below the floor of its queue, and no round gives a job two orders.
//  11. A plan gives no more orders than its rate allows, a round no more than MostOrders; none is given at MostOpen open ones.
//  12. A pool that holds more than its capacity gives no snapshot: what ends there is nobody's.
package retry
