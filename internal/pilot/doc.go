// Package pilot is the reference pilot: it pulls jobs for the slots of one machine, runs each as a real process,
// keeps their leases alive and reports how they ended.
//
//	free ──pull──▶ starting ──▶ running ──▶ ended ──finish──▶ free
//	  ▲    poll       │            │          ▲  outbox          │
//	  └───────────────┴── lost ────┴──stop────┘◀─────────────────┘
//
// One goroutine, the loop, owns all of the pilot's state. Calls to the server and processes run beside it and
// post what came of them. What happens on the machine, package payload does.
//
// # Invariants
//
//  1. What a poll offers is taken out of the free room until the poll is answered: no core is offered twice.
//     A slot that comes free gets a poll of its own at once, whatever other polls wait for. Polls end at the
//     same moment, so that what stayed free is offered as one again.
//  2. A pull without an answer is repeated with the same request id and body until it is answered, also while
//     draining: no lease that the server has given is left behind, and none is run twice.
//  3. A result stays in the outbox until the server has recorded it or said that the lease is lost. Results that
//     come while a finish is on its way go together in the next. A slot is offered again as soon as its result
//     was sent, so that the shares count without it.
//  4. A server that is away stops nothing: jobs run on; pulls, renewals and results are repeated with growing,
//     jittered pauses, not before Retry-After, and at once when another call gets an answer.
//  5. A lost lease has its processes killed at once, and nothing is reported for it.
//  6. What jobs write is sent while they are followed (live.go). No job and no result waits for that.
//  7. Run leaves no process, no goroutine and no lease behind.
//
// # Leaving
//
// When its context ends the pilot drains: no new pull, running jobs go on to their end, then Run returns nil.
// When Kill is closed too, or DrainWithin is over, or Until is near, jobs are ended and given back (revoked): they cost no attempt. So are
// jobs that the batch system ends together with the pilot.
package pilot
