// Package dispatcher hands out jobs: it wires its rooms together, log, machine, lease and fold, over one database.
//
//	Open ──▶ tables at folded + the tail of the log ──▶ Run: the loop ──▶ Pull Renew Finish
//	                                              └──▶ Steps: all other work, by whoever has the tickers
//	people and programs ──Verbs──▶ outbox ──▶ the leader ──▶ the log has it: told then
//
// # Invariants
//
//  1. The log is the only thing that Pull, Renew and Finish write, and what stands beside it: texts of attempts. Whoever has anything else for
//     it writes a row of the outbox, and says Written.
//  2. A daemon starts from what is folded: package start reads it in one snapshot, and the loop reads the log from there on.
//  3. An error of the database is never "no job": asks are answered Unavailable.
//
// # The hot path
//
// Pull, Renew and Finish take the requests of the API, check them here (a wrong one is asked of nobody), and ask the leader. The site that
// they are checked by is the version that the loop last saw. A lease's token is its fence. The id of a request has two parts: twelve bytes
// of queue, pilot and request id, four of the body; the leader refuses a name that comes with another body, as far as it remembers.
// What pilots say of attempts that run is in the leader's memory (lease.Seen); what they say at the end is written beside it, bounded and made
// fit for the database here: a text that it refuses would keep the log from going on. What a pilot starts is rendered where it asked, after
// the commit: all answers of a batch read their jobs by one statement; payloads and shapes never change, and are kept.
//
// # Facts of jobs that rules need
//
// The leader decides with the next step what becomes of a job whose attempt ended (Config.End, package rules): without a query. Rules know
// blocks of jobs and tasks, which never change and are few, from what they read before; of one that they do not know the job waits, and is
// judged when it was read.
//
// # Verbs and steps
//
// A verb returns when its row of the outbox is in the log and the machine of this daemon has it, or with why it was refused (ErrRefused). When
// nobody leads for long it is ErrUnavailable, and the row stays. Steps may run on every daemon at once; those by the rules and samples do
// something at the leader alone. While the tables are too far behind (Config.Behind) pulls wait, and get ErrUnavailable at last.
//
// While nothing happens a daemon asks little of the database: rules run where the machine has something for them, and the tables are brought
// up to date by the leader, each ten seconds where only time passes. Others do it when the leader is five seconds behind, or half a minute of ticks.
//
// # What is written beside the log
//
// Texts of attempts with the append of their end; reports of renewals by whoever was told, once a second (lease_reports),
// which the fold puts below those texts when the attempt has ended. A start begins with the Stood that is folded, and is equal again from the next one on.
package dispatcher
