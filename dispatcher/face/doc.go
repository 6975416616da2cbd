// Package face wires the rooms of the new dispatcher together: log, machine, lease and fold over one database. It becomes package
// dispatcher when the old core goes; until then nothing but its tests and benchmarks use it.
//
//	Open ──▶ tables at folded + the tail of the log ──▶ Run: the loop ──▶ Pull Renew Finish Commit
//	                                                   steps beside it: Fold, Extend (by whoever has the tickers)
//
// # Invariants
//
//  1. The log is the only thing that Pull, Renew, Finish and Commit write.
//  2. A daemon starts from what is folded: restore reads it in one snapshot, and the loop reads the log from there on.
//  3. An error of the database is never "no job": asks are answered Unavailable.
package face
