// Package figure holds what divvy-bench prints: figures beside their targets, the series of rounds that they were worked out of, and the
// report of a run with its checks, settings and commands. The JSON of a report is the tags of these types.
//
// A Book is a report that is being written, with progress for people. It is closed once, when all is measured.
package figure
