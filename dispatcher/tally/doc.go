// Package tally counts what a daemon does, as plain values: what lease and face fill, and package meter shows.
//
// A Tally is what was counted since the last one was handed over. Its owner fills it without a lock, hands it over as a value
// and begins an empty one; Add puts two together.
//
// The package is pure. What it counts for is bounded by what there is: pools, shares, queues, rules, gates.
package tally
