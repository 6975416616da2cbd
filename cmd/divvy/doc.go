// Command divvy is the whole system in one binary: the daemon, the pilot, the command line and a demo.
//
//	divvy serve     daemon: HTTP, generators and every ticker        (daemon.go, loops.go, wiring.go)
//	divvy pilot     runs jobs of a queue as local processes          (pilot.go, internal/pilot)
//	divvy apply … status                                             clients of the HTTP API
//	divvy top, watch                                                 the same, live             (top.go, watch.go)
//	divvy migrate   schema by hand
//	divvy demo      all of the above on this machine, checked        (demo.go, cmd/divvy/demo)
//	divvy bench     floors, and the daemon beside them               (bench.go, internal/bench)
//
// # Configuration
//
// One flat struct (config). Each field is a key of divvy.yml, an environment variable DIVVY_<KEY> and a flag
// of serve; flags win over the environment, that over the file, that over defaults(). An unknown key is
// refused with file:line:column. docs/configuration.md is generated from the struct.
//
// # The daemon
//
//		newDaemon(cfg) ─▶ Start ─▶ serving ─▶ Stop
//		                    │ cluster, migrations, site, dispatcher, generator, listener, loops
//		                    └ each step that succeeded pushes how it is undone
//
//	 1. Stop undoes in the reverse order of Start, each step within a bound of its own:
//	    no new grants (503), those in flight are answered, HTTP ends, loops end, dispatcher, pool, private cluster.
//	 2. Every goroutine of the process is started here; packages below have steps (loops.go is the list of tickers).
//	 3. A step that fails is logged once per streak and tried again with backoff. The database being away stops nothing.
//	 4. Generators keep to a pace while jobs are granted (pace.go); with nothing else to do they make what the machine can.
//	 5. SIGHUP and a changed site file apply nothing: a version is only made by apply, rollback, or --site on an
//	    empty database.
//
// # The command line
//
// Exit codes: 0 done, 1 failed, 2 the command line was wrong. Results go to stdout, everything else to stderr.
// -o json prints the API's own shapes. Colours and progress bars only on a terminal, never with NO_COLOR.
package main
