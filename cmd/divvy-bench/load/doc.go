// Package load is the load of divvy-bench, in a process of its own so that it costs the same for every side of a measurement.
//
//	Start ──an Order, as JSON on standard input──▶ Run: connections ask ──▶ claims and an Outcome, a line each, on standard output
//
// A load ends when its time is over, when it has enough, or when its standard input ends. Every lease that it was given is named, so that
// the run can compare them with the database. Connections speak HTTP by hand: net/http's client takes as long as a claim.
package load
