//go:build !race

package pgtest

// Raced says that the race detector watches.
const Raced = false
