// Package migrations holds the schema as numbered goose files, embedded, and applies them.
//
// The first twelve files are the baseline: a file a subject, with a comment on each table and on columns whose meaning their name
// does not say. Releases up to 0.10 had files of another line; Up refuses their databases with an OldError, and package
// internal/transfer takes along what is worth keeping.
//
// Files of a release are never changed (.ci/releases names the releases). Those behind them are additive: a daemon that is one
// release older keeps running on the new schema, so columns are added with defaults, and nothing that older code reads or writes is
// dropped or renamed in the same release. Tests in internal/e2e hold them to it: TestMigrationsAreAdditive reads the files,
// TestUpgrade runs the release before on them.
//
// schema.sql is a dump of the result; a test holds it to the files (go test ./migrations -update writes it). GoOn keeps ids from
// being given twice by a database that was set back.
//
// Any number of daemons may call Up at once: one works, under a session lock, and the others wait for it.
package migrations
