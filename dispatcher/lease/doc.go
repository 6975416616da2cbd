// Package lease leads and follows the log: it decides pulls, keeps leases alive, ends them, and answers after the commit.
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
//  1. One append is in flight; decisions made meanwhile form the next batch. A batch in doubt is appended again until it is known that the
//     log has it, or has another one.
//  2. A leader's machine is the log, the append in flight and the next batch. If an append is lost the leader drops all three and starts
//     again from the tables; answers that depended on them become Unavailable. Followers apply only what the log has.
//  3. An answer leaves after the batches that it depends on are committed.
//  4. An answer that a newer leader could contradict (no job, a lease is kept or lost, the same leases to a repeat) also needs proof that
//     there is no newer leader: an append of this leader was committed that began less than Fresh ago, or after the question came. No daemon
//     claims the lead before Silence, which is longer, or before the leader's farewell, after which the leader proves nothing.
//  5. (job, attempt, nonce) is the fence. Renewals and ends of any other change nothing.
//  6. No lease expires before its TTL is over since its grant, its last renewal, a change of leader, or a time in which this daemon stood
//     still or could not append; nor while its end waits for room. Deadlines exist only in the leader, by its monotonic clock. Where daemons
//     lead by turns, a change of leader does not renew a lease without news for three TTL. TTLs that renewals ask for are in the log with
//     Started or Lasting, and in the tables, so that a new leader knows them.
//  7. A repeated end has the same answer; a repeated request has the same leases while one of them is live.
//  8. No operation takes time in the number of leases, except Reloaded.
//  9. A row of the outbox is in the log as a whole or not at all, and once: the transaction of the append deletes it, and a leader does not
//     read a row again that is in flight, or that a look may have seen before the commit. Rows are applied in the order of their ids.
//
// # Silence
//
// A leader appends at least once a second. A follower that sees nothing new for its Silence, pushed or read, claims the lead: it appends a
// Leader entry behind the newest batch that it has. If it is wrong, it finds the seq taken and reads on. After a gap in its own steps a
// daemon listens for the whole Silence again, since it was itself away. The time of a read does not count, only the silence of the log. If no
// other daemon is open (Config.Alone) a daemon claims at its start without a Silence, since there is no one to contradict.
//
// Batches in quick succession are pushed together, at most every Push. An answer to a follower brings all batches that are not pushed yet, so
// that the asking daemon also has the answer's effects.
//
// # Turns
//
// Daemons that reach the log but not each other lead by turns. A follower whose requests wait for Wish, and that hears nothing of the leader
// (or gets no answers), appends Wished behind the newest batch, and keeps further requests. The leader finds its seq taken and appends its
// batch in flight behind the wish. Once it has led for Turn it appends its last batch: Heard is its farewell. Pulls that wait then are told
// that there is no job. The first daemon that wished claims as soon as it sees the farewell; without one, after a Silence as always. A wish
// does not say who leads, and does not count as hearing a leader.
//
// The farewell names the jobs whose leases were renewed in the turn, so that leases of dead pilots end although each turn renews all. The
// first farewell names none, and all count as named; a change of leader without a farewell ends that.
//
// # Intake
//
// Other writers put a row into the outbox in their own transaction (package intake), and tell any daemon (Written), so that the leader looks
// at once. A row that contradicts the log is marked with the reason. If part of it was applied before that was seen, the leader drops its
// machine; so rows of several entries should be right.
package lease
