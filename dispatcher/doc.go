// Package dispatcher hands out jobs. It wires its rooms together (log, machine, lease, fold) over one database.
//
//	Open ──▶ tables at folded + the tail of the log ──▶ Run: the loop ──▶ Pull Renew Finish
//	                                              └──▶ Steps: all other work, by whoever has the tickers
//	people and programs ──Verbs──▶ outbox ──▶ the leader ──▶ the log has it: told then
//
// # Invariants
//
//  1. Pull, Renew and Finish write to the log only, and beside it texts of attempts. All other writers put a row into
//     the outbox and call Written.
//  2. A daemon starts from the folded tables: package start reads them in one snapshot, and the loop reads the log from there on.
//  3. An error of the database is never "no job": requests are answered Unavailable.
//
// # The hot path
//
// Pull, Renew and Finish check the requests of the API here, against the site version that the loop last saw, and ask
// the leader; a wrong request asks no one. The token of a lease is its fence. The id of a request has two parts:
// twelve bytes of queue, pilot and request id, and four bytes of the body. The leader refuses a known id that comes
// with another body. Reports about running attempts stay in the leader's memory (lease.Seen). Final reports are
// written beside the log. They are bounded and cleaned here, since a text that the database refuses would stop the
// log. What a pilot starts is rendered on the daemon that it asked, after the commit. One statement reads the jobs of
// all answers of a batch; payloads and shapes never change, and are cached.
//
// # Facts of jobs that rules need
//
// The leader decides in the next step what becomes of a job whose attempt ended (Config.End, package rules), without
// a query. Rules cache blocks of jobs and tasks, which are few and never change. If a block is not cached, the job
// waits and is judged after the block was read.
//
// # Verbs and steps
//
// A verb returns when its row of the outbox is in the log and in the machine of this daemon, or with the reason for a refusal (ErrRefused).
// If no daemon leads for long it returns ErrUnavailable, and the row stays. Steps may run on every daemon at once; rules and samples act on
// the leader only. While the tables are too far behind (Config.Behind) pulls wait, and finally get ErrUnavailable.
//
// An idle daemon asks little of the database. Rules run when the machine has something for them. The leader folds
// every ten seconds if nothing but time passes. Other daemons fold if the leader is five seconds behind, or half a
// minute of ticks.
//
// # What is written beside the log
//
// Texts of attempts are written with the append of their end. Each daemon writes the reports of its renewals once a second (lease_reports);
// when the attempt has ended the fold puts them below those texts. A start begins with the folded Stood, and equals other machines again from
// the next Stood on.
package dispatcher
