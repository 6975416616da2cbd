// Package house has no code, only tests that hold the whole repository to its own rules: floors (imports point
// down only), SQL that the migrated database understands and that somebody uses, gofmt, a doc.go everywhere.
package house
