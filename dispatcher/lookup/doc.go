// Package lookup answers questions about jobs: their state, the results of their attempts, their leases.
//
//	Reader ──▶ jobs, job_blocks                       what a job is: written once, by intake
//	       ──▶ held, idle_ranges, over_ranges, history  where it stands, as of the batch that is folded
//	       ──▶ attempt_texts, payload_logs, judgements  what was said of its attempts
//	       ──▶ Config.Soft                            what only the leader knows of a lease: use, state
//
// A list takes two steps: a statement finds the ids of a page by an index, and another one (jobs) looks each of them
// up. Changes between the two show: a page of a state has only jobs that are still in it.
//
// # Where a job stands
//
// A job is in one place. It has a lease (a row of held), or it is in a range of jobs without one (ready or waiting), or it is over: in a
// range of over_ranges, or with the final state in its last row of history. A range is found by its high end: the first one not below the id,
// if its low end is not above it. A job in none of these was made a moment ago and is not folded yet: it is ready, or waits if its task is
// paused. But if its block is more than an hour older than the last folded batch, its history is no longer kept, and there is no such job.
//
// # Invariants
//
//  1. Nothing here writes.
//  2. A call looks at a bounded number of rows by index, however many jobs there are. If it reaches the bound it says so by its next cursor.
//     Days of history before a job was made are not looked at.
//  3. Answers are as old as the fold, normally a second. Config.Soft adds newer facts about leases in the tables; it adds no lease.
//  4. In one call all facts from the tables about a job come from one snapshot.
package lookup
