// Command divvy is the whole system in one binary: the daemon, the pilot, the command line and a demo.
//
//	divvy serve     daemon: HTTP, generators and every ticker        (cmd/divvy/serve, cmd/divvy/config)
//	divvy pilot     runs jobs of a queue as local processes          (pilot.go, internal/pilot)
//	divvy apply … status                                             clients of the HTTP API
//	divvy top, watch                                                 the same, live             (top.go, watch.go)
//	divvy migrate   schema by hand
//	divvy demo      all of the above on this machine, checked        (demo.go, cmd/divvy/demo)
//	divvy-bench     floors, and the daemon beside them               (cmd/divvy-bench)
//
// # The command line
//
// Exit codes: 0 done, 1 failed, 2 the command line was wrong. Results go to stdout, everything else to stderr.
// -o json prints the API's own shapes. Colours and progress bars only on a terminal, never with NO_COLOR.
package main
