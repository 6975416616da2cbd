// Package start makes the machine that a daemon starts with of what is folded: the log goes on from there.
//
// # Invariants
//
//  1. It reads the tables in one snapshot, and writes nothing.
//  2. The machine that it makes is that of the log up to the batch that is folded. Where that is not a Stood, what no table has (debts, for
//     instance) is as the last Stood says it, and equal again from the next one on.
package start
