// Package retry decides what becomes of a job whose attempt did not finish, and knows what exit codes mean. It is pure:
// values in, values out, no SQL, no clock.
//
//	attempt failed or lost ─▶ failed for good   a rule says so, max_failures is reached, or it was lost too often in a row
//	                       ├▶ split             its piece is to become two
//	                       └▶ again             at once or after a backoff, maybe with more memory or walltime, or elsewhere
//
// Attempts are counted apart: max_attempts bounds all that are charged, max_failures those that failed, whatever was lost
// in between, quarantine_after those that were lost one after the other: such a job seems to end its pilots.
//
// Rules are tried in their order, and the first one that matches decides. One that is rehearsed (dry_run) only says what it
// would have done; one that has expired is as if it were not there. The bounds of the task hold whatever a rule says.
package retry
