// Package lookup answers questions about jobs: where they stand, what their attempts came to, what pilots hold.
//
//	Reader ──▶ jobs, job_blocks                       what a job is: written once, by intake
//	       ──▶ held, idle_ranges, over_ranges, history  where it stands, as of the batch that is folded
//	       ──▶ attempt_texts, payload_logs, judgements  what was said of its attempts
//	       ──▶ Config.Soft                            what only the leader knows of a lease: use, state
//
// A list is made in two steps: a statement that finds the ids of a page by an index, and one (jobs) that looks each of them up. What
// happened between the two shows: a page of a state has only jobs that are still in it.
//
// # Where a job stands
//
// A job is in one place: it has a lease (a row of held), or it is in a range of jobs without one (ready or waiting), or it is over: in a
// range of over_ranges, or with the final state in the last row of history that it has. A range is found by its high end: the first one
// that is not below the id, if its low end is not above it. A job that is in none of them was made a moment ago and is not folded yet: it
// is ready, or waits if its task is paused. When the block that it was made with is older than an hour before the last batch that is
// folded, its history is not kept any more, and there is no such job.
//
// # Invariants
//
//  1. Nothing here writes.
//  2. A call looks at a bounded number of rows by index, however many jobs there are; what a call may not find within its bound it says by
//     its next cursor. Days of history before a job was made are not looked at.
//  3. Answers are as old as the fold, a second as a rule. Config.Soft adds what is newer of leases that the tables have, it adds no lease.
//  4. Of one call all that the tables say of a job is of one snapshot.
package lookup
