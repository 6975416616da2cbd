// Package broker decides which share lacks jobs, how many, and at which priority. It reads the stock of every share (ready jobs, and pieces
// left to make) and compares the stock with the share's mark.
//
//	Broker.Next ──▶ Need (a share and its wants) ──▶ a batch of jobs ──▶ Broker.Rest (the wants that are left)
//
// # Life cycle
//
// One reading looks at a row of every live task. While a reading is quick, each round of Next reads again. When a reading is slow, all
// workers of a generator share it, until they have made everything that it found missing or it is too old. Heard shortens that time.
//
// # Invariants
//
//  1. A Need carries the epoch of the state behind it. Making jobs raises the epoch, so a Need is used once.
//  2. Shares without a ready job come first, in the order in which slots would go to them. While there are several, batches are small.
//  3. Ready jobs of low priority never delay an urgent task. Where users take turns, ready jobs of one user never delay another user's.
package broker
