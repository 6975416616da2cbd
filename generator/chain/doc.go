// Package chain lets tasks follow those that they need: a need is met when its task is over as was asked for, gives inputs as outputs
// of its jobs come, or lets pieces become jobs as the pieces that they correspond to end.
//
//	Of, Insert: needs of a new task ──▶ Step, a need at a time: jobs that have ended ──▶ inputs, or released pieces ──▶ met, or broken
//
// # Invariants
//
//  1. Each ended job is taken note of exactly once: a bit for each piece (need_pieces), under the lock of the task that needs.
//  2. A piece is released once, when the last of the parts that it waits for is there, in every task that it follows.
//  3. A need of which the history is gone, or whose task ended otherwise, is broken; what cannot go on without it is given up.
package chain
