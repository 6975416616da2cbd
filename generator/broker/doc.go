// Package broker says which share lacks jobs, how many and of which priority: it reads what shares have in stock, ready jobs and pieces left,
// and compares that with their marks.
//
//	Broker.Next ──▶ Need (a share and its wants) ──▶ a batch is made ──▶ Broker.Rest (what is left of the wants)
//
// # Life cycle
//
// A reading takes a row of every live task. While that is soon done each round of Next reads anew; where it takes longer, the workers of a
// generator go by one reading until all that it found is made, or it is too old. Heard makes the next one sooner.
//
// # Invariants
//
//  1. A Need carries the epoch of the state that it was decided on: who makes jobs raises it, so a decision is used once.
//  2. Shares with nothing ready come first, in the order in which slots would go to them, with small batches while there are several.
//  3. Ready jobs of low priority never keep an urgent task waiting, nor those of one user another's where they take turns.
package broker
