// Package face wires the rooms of the new dispatcher together: log, machine, lease and fold over one database. It becomes package
// dispatcher when the old core goes; until then nothing but its tests and benchmarks use it.
//
//	Open ──▶ tables at folded + the tail of the log ──▶ Run: the loop ──▶ Pull Renew Finish
//	                                                   steps beside it: Fold, Extend (by whoever has the tickers)
//
// # Invariants
//
//  1. The log is the only thing that Pull, Renew and Finish write, and what stands beside it: texts of attempts. Whoever has anything else for
//     it writes a row of the outbox, and says Written.
//  2. A daemon starts from what is folded: restore reads it in one snapshot, and the loop reads the log from there on.
//  3. An error of the database is never "no job": asks are answered Unavailable.
//
// # What is missing until it can be package dispatcher
//
// Intake (tables of jobs and payloads, and the verbs of tasks as entries), what is written beside an end, entries Polled and those of
// claims, pulls of a node together (Pull.Beside), the retry policy at each end (package retry), explain's subjects, metrics, and the
// relay as Send. A checkpoint is not written yet: a start knows what is ready and held, and begins anew with what shares missed, whose
// turn it is and which claims are bound.
package face
