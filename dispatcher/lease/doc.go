// Package lease leads and follows the log: it decides on pulls, keeps leases alive, ends them, and answers after the commit.
//
//	Ask, Appended, Fetched, Received, …  ──▶ Node.Step(now) ──▶ Append, Read, Reload, Look, Answer, Send, Wake
//
//	following ──silence──▶ claiming ──its Leader entry is committed──▶ leading ──its seq is taken, or a gap──▶ reloading ──▶ following
//
// Node is the core: values in, values out. It has no goroutine, lock, clock or I/O, so a simulation runs it as production does
// (package sim). Loop is the shell around it: one goroutine that owns the Node, its timers and its calls.
//
// # Invariants
//
//  1. One append is in flight. What is decided meanwhile is the next batch. A batch in doubt is appended again until it is known to be
//     in the log, or that another one is.
//  2. A leader's machine is the log, its append in flight and the next batch. When an append turns out to be lost, the leader drops all three and
//     starts from the tables; whatever rested on them is answered Unavailable. Followers apply only what the log has.
//  3. An answer leaves after the batches on which it rests are committed.
//  4. An answer that a newer leader could contradict (no job, a lease is kept or lost, the same leases again) also needs proof that there is
//     none: an append of this leader was committed and had begun less than Fresh ago, or began after the question came. Nobody claims the lead
//     before Silence, which is longer.
//  5. (job, attempt, nonce) is the fence. Renewals and ends of any other change nothing.
//  6. No lease expires before its TTL is over since its grant, its last renewal, a change of leader, or a time in which this daemon stood
//     still or could not append. Deadlines are by the monotonic clock of the leader and are nowhere else.
//  7. The same end again has the same answer; the same request again has the same leases while one of them is live.
//  8. Nothing takes time in the number of leases, but for Reloaded.
//
// # Silence
//
// A leader appends at least each second. A follower that sees nothing new, neither pushed nor read, for its Silence claims: it appends a
// Leader entry behind the newest batch that it has. Whoever is wrong finds the seq taken and reads on. After a gap in its own steps a
// daemon listens for the whole Silence again: it was itself that was away.
//
// # Intake
//
// Entries of others come by Ask.Commit. They are not idempotent, so an ask may say until which time of the log it may be appended:
// once the machine's Now is behind it, what is not in the log never will be.
package lease
