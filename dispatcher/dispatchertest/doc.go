// Package dispatchertest runs a dispatcher for tests of packages that use one: over a database of package pgtest, with the versions of a site
// store, short timings, and its steps in the background.
//
//	d := dispatchertest.Open(t, db, store)
//	reply, err := d.Pull(ctx, …)
//	d.Settle() // all that was said is in the log, in the machine and in the tables, and judged
//
// # Invariants
//
//  1. Open returns when the daemon uses the newest version of the store, if there is one. It leads at once; a second daemon on the same
//     database sets Config.Alone.
//  2. A failing step fails the test, unless the daemon is stopping.
//  3. The dispatcher ends before the test, or by Stop.
//
// Only _test.go files import it. The store's Hooks need Barrier and Rebase of package intake.
package dispatchertest
