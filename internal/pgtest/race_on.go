//go:build race

package pgtest

// Raced says that the race detector watches. It looks for other faults than a property does, and a few cases show them; and it
// allocates memory of its own, so that none is measured beside it.
const Raced = true
