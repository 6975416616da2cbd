// Package report runs the reports that people ask for by name: statements about schema report, which is described in
// docs/reporting.md, and nothing else. It reads only: its transactions are read-only, and end after Bound.
package report
