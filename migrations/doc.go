// Package migrations holds the schema as numbered goose files, embedded, and applies them.
//
// The files are additive: a daemon that is one version older keeps running on the new schema, so columns are
// added with defaults, and nothing that older code reads or writes is dropped or renamed in the same release.
// A file that has been released is never changed. schema.sql is a dump of the result; a test holds it to the
// files (go test ./migrations -update writes it).
//
// What they may not do is tested by internal/e2e: TestMigrationsAreAdditive reads them, TestUpgrade runs the release before on
// them. GoOn keeps ids from being given twice by a database that was set back.
//
// Any number of daemons may call Up at once: one works, under a session lock, and the others wait for it.
package migrations
