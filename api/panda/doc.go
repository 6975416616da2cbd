// Package panda lets pilots, Harvesters and scripts that speak PanDA's protocols work here unchanged. Both generations
// of its API are adapters of the same calls of the dispatcher and the generator as the native API; there is no second
// state machine. What tasks are called, and which hosts were heard of, is remembered for a while; nothing depends on it.
//
//	POST /server/panda/getJob updateJob …       pilot3 up to 3.11: old.go
//	POST /api/v1/pilot/acquire_jobs … (latest)  pilots since 2026-05, Harvester, panda-server's own client: pilot.go
//	     /api/v1/harvester/ job/ statistics/ system/   Harvesters, scripts, monitors: harvesters, jobs.go, statistics, system.go
//	GET  /trf/<key>/runShell, /trf/<name>       payload scripts, free of tokens: pilots fetch them without one (trf.go)
//	POST /trf/<key>/log                         the end of what a payload wrote, by the secret of its attempt (payload_log.go)
//	GET  /cache/<name>                          files that clients uploaded for their jobs, free of tokens too (files.go)
//
// # What becomes of what
//
//	siteName, site_name          the queue
//	mem, diskSpace               memory and disk of the slot, in MB; 0 = not said
//	remaining_time               how long the slot lives on; 0 = not said
//	resourceType                 a hint: SCORE is a slot of one core, all others are as the queue says; what fits goes
//	taskID, prodUserID           only jobs of this task, of this user's tasks
//	prodSourceLabel              only jobs of tasks with this label, or with none; unified = any
//	nJobs                        so many slots of this size
//	background                   nothing: every pull is served in the order of the shares
//	starting, running            renew, state starting, running
//	transferring, holding        renew, state draining
//	finished, failed             finish
//	add_target_slots             a hard limit of the dispatcher, or with mode floor a floor: cores at a queue, for a share or a kind
//	                             of jobs, until a date
//	an order to cancel           the command tobekilled: killed, reclaimed, whatever the reason
//
// # What is promised
//
//  1. A job's attemptNr is the fence. An update of an attempt that is over changes nothing: a heartbeat is told tobekilled,
//     a final state is answered as if it counted, so that the pilot ends in peace. The first word on an attempt counts;
//     a last word that says otherwise is kept in the attempt's report, as late.
//  2. "No jobs" is only said when there is none. A pull waits for a job up to Config.Wait, below the time that pilots
//     give an answer. Where the database or the daemon is away the old API says StatusCode 10, the new one success false.
//     A final update that could not be recorded is answered 503 by the old API, since that pilot takes any 200 for heard
//     and repeats a 503; all else there is 200.
//  3. The old API takes JSON, gzip said or unsaid, and forms, and ignores what it does not know. The new one takes the
//     same, and names arguments that it does not know or cannot read in an answer with success false.
//  4. Answers of the new API have exactly the keys success, message and data, and command too where there is one. Where there
//     is none data says null, and NULL to a pilot, as PanDA's own server does: null stops pilots since the middle of 2026.
//     Every call below /api/v1/ and /api/latest/ is answered so; one that is not served says what there is instead
//     (tasks_other.go, jobs.go, elsewhere.go). Calls about many jobs or tasks take few statements, and at most so many.
//  5. A command reaches the job as its arguments were, whatever they hold (quote.go). It is run by /trf/runShell, unless
//     its program is an http or https URL: that is the transformation then, and the arguments follow as they are.
//  6. PanDA's pilots renew every half hour. Their leases last Config.Lease once they are heard of, whatever other leases
//     last.
//  7. A repeated request for jobs is a request of its own. Pilots give them no number, and what they send may be the same for
//     two pilots of one host: never two pilots with one job. What was leased to an answer that got lost ends with its first
//     lease; what was leased to a caller that went away while it waited is given back at once.
//  8. A credential that is missing, not good or for another origin is refused with 403 by the new API; a good one without the role
//     or the right with 200 and success false. The old API answers both with 200 and StatusCode 60. Where the issuer of a token does
//     not answer, both say 503. No token is logged or said back.
package panda
