//go:build race

package dispatcher

// raced: the race detector watches. It looks for other faults than a property does, and a few cases show them.
const raced = true
