// Package panda serves pilots, Harvesters and scripts that speak PanDA's protocols, unchanged. Both generations of PanDA's
// API are adapters of the same calls of the dispatcher and the generator as the native API; there is no second state
// machine. Names of tasks, and the hosts that called, are remembered for a while; nothing depends on that.
//
//	POST /server/panda/getJob updateJob …       pilot3 up to 3.11: old.go
//	POST /api/v1/pilot/acquire_jobs … (latest)  newer pilots, Harvester, panda-server's own client: pilot.go
//	     /api/v1/harvester/ job/ statistics/ system/   Harvesters, scripts, monitors: harvesters, jobs.go, statistics, system.go
//	GET  /trf/<key>/runShell, /trf/<name>       payload scripts, without a token, since pilots send none (trf.go)
//	POST /trf/<key>/log                         the end of a payload's output, by the secret of its attempt (payload_log.go)
//	GET  /cache/<name>                          files that clients uploaded for their jobs, also without a token (files.go)
//
// # Mapping
//
//	siteName, site_name          the queue
//	mem, diskSpace               memory and disk of the slot, in MB; 0 = not said
//	remaining_time               time that the slot has left; 0 = not said
//	resourceType                 a hint: SCORE is a slot of one core, others are as the queue says; a job goes where it fits
//	taskID, prodUserID           only jobs of this task, of this user's tasks
//	prodSourceLabel              only jobs of tasks with this label, or with none; unified = any
//	nJobs                        so many slots of this size
//	background                   nothing: every pull is served in the order of the shares
//	starting, running            renew, state starting, running
//	transferring, holding        renew, state draining
//	finished, failed             finish
//	add_target_slots             a limit on cores at a queue, for a share or a kind of jobs, until a date; with mode floor, a floor
//	an order to cancel           the command tobekilled, whatever the reason
//
// # Promises
//
//  1. A job's attemptNr is the fence. An update of an attempt that is over changes nothing: a heartbeat is answered
//     tobekilled; a final state is answered as if it counted, so that the pilot exits. The first final state of an attempt
//     counts; a different one that comes later is kept in the attempt's report, as late.
//  2. "No jobs" is answered only when there is none. A pull waits for a job up to Config.Wait, which is below a pilot's
//     timeout. While the database or the daemon is away the old API answers StatusCode 10, the new one success false. The
//     old API answers 503 if a final update could not be recorded, since its pilot repeats a 503 but takes any 200 for
//     success. All its other answers are 200.
//  3. The old API accepts JSON, with gzip declared or not, and forms; it ignores unknown arguments. The new one accepts
//     the same, but refuses an argument that is unknown or unreadable: success false, with its name.
//  4. Answers of the new API have exactly the keys success, message and data, and command if there is one. Without a
//     command data says null; to a pilot it says NULL, as PanDA's own server does, since null ends newer pilots. Every call
//     below /api/v1/ and /api/latest/ is answered so; for a call that is not served the message says what to use instead
//     (tasks_other.go, jobs.go, elsewhere.go). Calls about many jobs or tasks take few statements, and are bounded.
//  5. A command reaches the job exactly as its arguments were (quote.go). /trf/runShell runs it, unless its program is an
//     http or https URL: then that is the transformation, and the arguments follow unchanged.
//  6. PanDA's pilots renew every half hour. After their first report their leases last Config.Lease, unlike other leases.
//  7. A repeated request for jobs is a new request, since pilots send no request id and two pilots of one host may send
//     the same: a repeat must never give two pilots one job. Jobs in an answer that got lost come back when their first
//     lease ends; jobs for a caller that went away while it waited come back at once.
//  8. The new API answers 403 to a credential that is missing, bad or for another origin, and 200 with success false to a
//     good one without the role or the right. The old API answers both 200 with StatusCode 60. If the issuer of a token
//     does not answer, both say 503. Tokens are neither logged nor sent back.
package panda
