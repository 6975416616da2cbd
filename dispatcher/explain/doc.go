// Package explain says why a job waits, how shares and queues stand, and how two shares fare against each other.
//
//	machine.View, and what a daemon knows beside it ──▶ Moment ──Job Task──────────▶ Explanation: a gate a queue, position, ETA
//	    (pilots, ends, black holes)                            ├─Standing Outlook──▶ pools and shares
//	                                                           ├─Queues Counts─────▶ queues, numbers of jobs
//	                                                           ├─Stock ShareStock──▶ how well shares are supplied
//	                                                           └─Why───────────────▶ two shares compared
//
// Explain is the machine asked again: whether a gate refuses, and who comes first, is what machine.View.Ask answers, by the code that
// decides. The package keeps no books and reads no table. What only tables have (the job's row, decisions made again, claims) comes
// in as values.
//
// # Invariants
//
//  1. Nothing here changes what a machine decides.
//  2. Gate none means that the next slot as large as the queue allows gets the job; another gate means that it does not.
//  3. All figures of one answer are of one moment.
//  4. The first gate that a job fails at a queue counts there; for the job the queue counts where it gets furthest.
//
// A Moment holds as long as its View: take it, and what it says, while nobody gives the machine an entry.
//
// The package is pure: time comes with the Moment.
package explain
