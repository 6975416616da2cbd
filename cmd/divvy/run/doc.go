// Package run is the command 'divvy run': a command of one's own as a task, followed to its end, with its output and exit code.
//
//	flags, command ──Ask.Spec──▶ task ──submit──▶ follower: progress, reasons, output ──▶ exit code
//	                                  │ --local: a private server first (package local)
//
// # Invariants
//
//  1. What is wrong with a command line is said before anything is submitted or started.
//  2. stdout has what jobs wrote to stdout, and nothing else; with --detach the id of the task alone.
//  3. The task outlives the command, but for --local: a follower that ends leaves it running, unless it was told to kill it.
//  4. --local leaves nothing behind: no process, no folder, no database.
package run
