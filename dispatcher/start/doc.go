// Package start builds the machine with which a daemon starts from the folded tables; the log goes on from there.
//
// # Invariants
//
//  1. It reads the tables in one snapshot, and writes nothing.
//  2. The machine equals that of the log up to the folded batch. If that batch is no Stood, state that no table has (debts, for instance) is
//     that of the last Stood, and equal again from the next one on.
package start
