// Package month times reports over the history of a month like ATLAS's: a log of its attempts (package past), folded day by day into the
// tables of a new database by the daemon's own fold, compared with a recount, and asked for the last day.
package month
