// Package demo shows the whole chain at work and checks it: a site with the tree of the documentation on eight
// local slots, tasks of three activities whose jobs are real processes over real files, a change of demand half
// way, and a verdict.
//
//	site.yml ─▶ tasks ─▶ slots filled ─▶ window: first half │ second half ─▶ finish ─▶ check ─▶ report folder
//	                                             MC idle    │ MC wants its due
//
// It is a client: it talks HTTP to a running daemon and reads the report views over a read-only connection.
//
// # The verdict
//
//  1. For each leaf, |delivered − due| over the window is at most 5 % of due, or one mean job and the longest job for
//     each slot that its target moved by (nothing is killed), whichever is more. Due is its target's part of what
//     all leaves held, at each moment: slots that stand idle because the machine is busy are told beside the verdict
//     and do not count as unfairness. Delivered are the slot-seconds of its attempts inside the window. Both sides
//     are read from the schema report (sql/), nothing from what the live view saw.
//  2. Every finished job has an output, and it agrees with the input files, read again and recomputed here.
//  3. No job failed.
//
// # Why the site file has floors
//
// Of eight slots the weights alone give Test 0.4 of one. A pick without memory rounds that to 0 for as long as
// everybody has work, which is right and says so in design (held − target < 1), but is no demonstration of
// delivery. So every leaf that its weight would give a fraction has a min of whole slots, as a small site
// would, and who borrows is still decided by the weights.
package demo
