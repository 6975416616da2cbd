// Package payload runs the jobs of one pilot on its machine: folders, processes and what they use. It knows leases, but no server.
//
//	Open ──▶ Host ──NewJob──▶ Job ──Run──▶ result ──Tidy──▶ files kept or removed
//	                           ▲ Stop, State, Used: at any time, from any goroutine
//
// One thread starts all processes, one goroutine measures them, and for a pilot that is alone in its process another looks after what
// jobs have left running.
//
// # Invariants
//
//  1. A job is over when its first process is. Whatever is left of its process group then is killed, and of a pilot that is alone in
//     its process what it left in other groups and sessions too, at the latest when all jobs have ended that ran when it began.
//  2. Outcome, exit code and message are what happened: 128 + signal, 127 not found, 126 not executable; a job that was stopped says
//     why, with figures, whatever its exit code.
//  3. Close leaves no process and no goroutine behind. When the pilot itself is killed, the kernel kills the first process of each job
//     (Pdeathsig) and the guard, if there is one, the rest of its process group and control group. On macOS the guard kills all of it,
//     and what jobs leave in other groups stays: that kernel has no subreaper.
//     A container of podman or docker is not below the pilot: the runtime is told to kill and remove it when its job is over, and the guard tells
//     it that when the pilot is killed.
//  4. A job reaches no other's files: its folder is its own, links in it lead the pilot nowhere, and the pilot's DIVVY_ variables, one
//     of which is the token, are not passed on.
package payload
