// Package tally counts what a daemon does, as plain values: packages lease and face fill them, and package meter shows them.
//
// A Tally holds the counts since the last one was handed over. Its owner fills it without a lock, hands it over as a
// value and begins an empty one; Add sums two.
//
// The package is pure. Its size is bounded by the numbers of pools, shares, queues, rules and gates.
package tally
