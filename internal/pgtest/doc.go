// Package pgtest gives tests a real PostgreSQL. Only _test.go files import it.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	func TestPull(t *testing.T) {
//		db := pgtest.Open(t) // a migrated database of this test's own
//
// The server is looked for once a test binary, at the first test that wants it: DIVVY_TEST_DATABASE (a DSN of
// a role that may create databases), then a container where Docker answers (DIVVY_TEST_CONTAINERS=off leaves
// that out), then a private cluster from local programs. A test without any of them fails; only with -short it
// is skipped, with the reason.
//
// Open and DSN clone a database that was migrated once; it costs tens of milliseconds. A private cluster begins with it: the first test
// binary of a day keeps one in the user's cache (divvy/pgtest, 60 MB; it may be removed), which the others copy. Tx is cheaper: a
// transaction on a database that all such tests of the binary share, rolled back in the end.
//
// Draws and Long keep go test ./... quick: without DIVVY_LONG properties make a quarter of their draws, and tests that are
// long by nature are skipped.
package pgtest
