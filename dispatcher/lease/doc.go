// Package lease leads and follows the log: it decides on pulls, keeps leases alive, ends them, and answers after the commit.
//
//	Ask, Appended, Gathered, Received, …  ──▶ Node.Step(now) ──▶ Append, Gather, Read, Reload, Look, Answer, Send, Wake
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
//  4. An answer that a newer leader could contradict (no job, a lease is kept or lost, the same leases to a repeat) also needs proof that there is
//     none: an append of this leader was committed and had begun less than Fresh ago, or began after the question came. Nobody claims the lead
//     before Silence, which is longer, or the leader's farewell, after which it proves nothing.
//  5. (job, attempt, nonce) is the fence. Renewals and ends of any other change nothing.
//  6. No lease expires before its TTL is over since its grant, its last renewal, a change of leader, or a time in which this daemon stood
//     still or could not append, nor while its end waits for room. Deadlines are by the monotonic clock of the leader and are nowhere else.
//     Where daemons lead by turns, a lease that no leader has heard of for three TTL is not renewed by a change of leader.
//     TTLs that renewals ask for are in the log with Started or Lasting, and in the tables, so a new leader knows them.
//  7. The same end again has the same answer; the same request again has the same leases while one of them is live.
//  8. Nothing takes time in the number of leases, but for Reloaded.
//  9. A row of the outbox is in the log as a whole or not at all, and once: it is deleted in the transaction of the append, and a leader does
//     not take one again that it has in flight, or that a look may have seen before the commit. Rows are taken in the order of their ids.
//
// # Silence
//
// A leader appends at least each second. A follower that sees nothing new, neither pushed nor read, for its Silence claims: it appends a
// Leader entry behind the newest batch that it has. Whoever is wrong finds the seq taken and reads on. After a gap in its own steps a
// daemon listens for the whole Silence again: it was itself that was away. The time that a read takes does not count: it is the log that
// is silent. A daemon that is the only one that is open (Config.Alone) claims at
// its start without a Silence: nobody is there who could be contradicted.
//
// Batches that come fast are pushed together, each Push at the most. An answer to a follower brings all that is not pushed yet, so whoever asked
// there finds there what he was told.
//
// # Turns
//
// Daemons that reach the log and not each other lead by turns. A follower whose asks wait for Wish, and that hears nothing of the leader (or has no
// answers), appends Wished behind the newest batch, and keeps further asks of its own. The leader finds its seq taken, appends what it has in
// flight behind the wish, and, once it has led for Turn, appends its last batch: Heard is its farewell. Pulls that wait by then are told
// that there is no job. Whoever wished first claims as soon as it sees the farewell; without one it takes a Silence, as ever. A wish says nothing of who
// leads, and does not count as hearing a leader.
//
// The farewell names the jobs whose leases were renewed in the turn, so that those of pilots that are gone end though each turn renews all. The first one
// names none, and all count as named with it; a change of leader without a farewell ends that.
//
// # Intake
//
// Entries of others come by the outbox: whoever has something for the log writes a row in a transaction of its own (package intake), and tells
// any daemon (Written), so that the leader looks at once. A row that does not follow what is in the log is marked with the reason. Where
// a part of it was applied before that was seen, the leader drops its machine: rows of more than one entry are to be right.
package lease
