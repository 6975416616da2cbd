// Package split cuts the lots of a task into pieces that become jobs. It is pure: values in, values out.
//
//	Spec, Lot, queues in force ──NewPlan──▶ Plan: sizes of pieces, what each needs
//	Lot, rows of inputs (Run) ──Cutter.Next, by a size──▶ Pieces ──Plan.NeedOf──▶ requirements of a job
//
// # Invariants
//
//  1. Each input and each event is in exactly one piece, in order, whatever sizes a Cutter is asked for and however little it reads at a time.
//  2. No piece but a single input or event is larger than its size. With Fit a size is what the queues that may run it allow.
//  3. What a Lot counts as left is an estimate: at least 1 while something is left.
package split
