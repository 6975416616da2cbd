// Package explain says why a job waits, what state shares and queues are in, and how two shares compare.
//
//	machine.View, and what a daemon knows beside it ──▶ Moment ──Job Task──────────▶ Explanation: a gate a queue, position, ETA
//	    (pilots, ends, black holes)                            ├─Standing Outlook──▶ pools and shares
//	                                                           ├─Queues Counts─────▶ queues, numbers of jobs
//	                                                           ├─Stock ShareStock──▶ how well shares are supplied
//	                                                           └─Why───────────────▶ two shares compared
//
// Explain asks the machine again: machine.View.Ask says whether a gate refuses and who comes first, by the code that
// decides. The package keeps no state and reads no table. What only tables hold (the row of the job, replayed
// decisions, claims) comes in as values.
//
// # Invariants
//
//  1. Nothing here changes a decision of the machine.
//  2. Gate none means that the next slot as large as the queue allows gets the job; any other gate means that it does not.
//  3. All figures of one answer are of one moment.
//  4. At a queue the first gate that a job fails counts; for the job, the queue where it gets furthest.
//
// A Moment is valid as long as its View: use it, and its results, only while the machine gets no entry.
//
// The package is pure: time comes with the Moment.
package explain
