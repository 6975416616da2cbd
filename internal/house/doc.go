// Package house has no code, only tests that hold the whole repository to its own rules: floors and rooms (imports
// point down only), sizes (limits, and a list of offenders that may only shrink), SQL that the migrated database
// understands and that somebody uses, gofmt, a doc.go everywhere.
package house
