// Package serve is the daemon as a value: a database, a site, a dispatcher, generators and HTTP, wired together and run.
//
//	New(cfg, log) ──▶ Start ──▶ serving ──▶ Stop
//	                    │ database, migrations, site, dispatcher, generator, loops, HTTP
//	                    └ each step that succeeded says how it is undone
//
// Run is all of it as a process lives: until its context ends, or the daemon cannot go on; systemd is told.
//
// # Invariants
//
//  1. Stop undoes in the reverse order of Start, each step within a bound of its own: no new grants (503), those in flight are answered,
//     HTTP ends, loops end, dispatcher, pool, private cluster.
//  2. Every goroutine of the process is started here; packages below have steps (ticks.go is the list of tickers).
//  3. A step that fails is logged once per streak and tried again with backoff. The database being away stops nothing.
//  4. Generators keep to a pace while jobs are granted (pace.go); with nothing else to do they make what the machine can.
//  5. SIGHUP and a changed site file apply nothing: a version is only made by apply, rollback, or --site on an empty database.
package serve
