// Package house has no code, only tests that hold the whole repository to its own rules: floors and rooms (imports
// point down only), sizes of rooms, SQL that the migrated database
// understands and that somebody uses, gofmt, a doc.go everywhere.
package house
