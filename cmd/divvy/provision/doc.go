// Package provision starts pilots of a queue in a batch system, and cancels those that are not wanted any more.
//
//	every second:  daemon ──wanted, seen names──▶ ┐
//	               list command ──names─────────▶ ├─ Table.Update ─▶ Table.Plan, pure ─▶ files of names ─▶ start, stop commands
//	               folder of names ─────────────▶ ┘
//
//	asked ──listed──▶ queued ──it pulled──▶ alive ──not listed any more──▶ gone
//	  └──────not listed for grace, never pulled──▶ lost: the next starts pause, longer each time
//
// # Invariants
//
//  1. A name is used once. Its file is on disk (fsync of file and folder) before the start command runs, and a name with a file is
//     never given to a start command again. So a provisioner that was killed starts nothing twice: until the batch system lists a name, or
//     grace is over, it counts as a pilot.
//  2. Without an answer of the daemon and of the list command nothing is started or stopped.
//  3. One process a folder: it holds a lock.
//  4. A batch system that swallows pilots gets one at a time, after pauses that double up to half an hour, until one of them pulls.
package provision
