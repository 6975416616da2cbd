// Package replay scores recorded decisions that are made again: where they would go now, and what shares would hold.
//
// It is pure: values in, values out. The caller makes a decision again on the state that the log had at its moment, and says what came out.
//
// # Invariants
//
//  1. A decision is compared or counted as not comparable, with a reason; never both, never neither.
//  2. What a share held is counted once for each moment, however many daemons' records cover it.
package replay
