// Package replay makes recorded decisions again and says where they would go now.
//
// It is pure: values in, values out. Whoever calls it has folded what was recorded up to the moment of a decision into a
// shares.Pool and knows who contended; Score.Again takes the walk that was taken then, shares.Pool.Contest, which is that
// of Choose, and compares.
//
// # Invariants
//
//  1. On the pool and the contenders that the decision was made on, the same leaf comes out with the same deficits, to
//     the last bit that was recorded.
//  2. A decision is compared or counted as not comparable, with a reason; never both, never neither.
//  3. What a share held is counted once for each moment, however many daemons' records cover it.
package replay
