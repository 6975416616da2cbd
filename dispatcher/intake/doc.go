// Package intake has all that transactions of others do to jobs: make them, move, place, pause, end and split them, and change what
// they get slots by. It writes its own tables and, in the same transaction, entries for the log into the outbox; it never writes the log.
//
//	generator, api, site ──▶ tables and a row of outbox, one commit ──Pending──▶ leader ──▶ the log has the entries and the row is gone,
//	                                                                                        or it is marked refused: one commit
//
// # For the leader
//
// Outbox.Pending is all that it needs, and AwaitSplit where an end says so. It applies the entries of a row together or not at all, in the
// order of the ids; appends take the rows out of the outbox (package ledger, AppendWith). A row of a newer version waits for one.
// Whoever commits a row tells the leader; that is not done here.
//
// # The tables
//
//	jobs, job_blocks   a row a job, and one for jobs of a call that are alike. Partitions of ids, see Extend and Retire
//	shapes, payloads   requirements, and what tasks run
//	outbox             entries that the log does not have yet, or that the machine refused
//	claim_keys         the ids of claims, and how many jobs of each the log was told of
//	splittings         jobs that wait until their piece is two; scaled_away: jobs whose pieces are not tried again
//	target_slots       what people bound; placings: the aging by which jobs of shares have their places
//
// It reads shares (id, plan) of package internal/site and tasks (id, user_name, ended_at) of package generator.
//
// # Invariants
//
//  1. A job is in the log if and only if its transaction was committed, and its jobs and job_blocks rows are there before that.
//  2. Ids of a call follow each other, those of a block are alike, each job has one block. An id is never given twice.
//  3. Rows of outbox that are about one task have ids in the order of their commits: whoever writes one holds the task's row, or Barrier,
//     or locks the blocks that it is about. A shape is said before the jobs that have it.
//  4. Nothing here knows what runs. What is live, leased or over is in the log alone, so a verb is one entry a task, or one a block where
//     places differ, and costs the same however many jobs it is about.
//  5. Rows of jobs never change, but for the piece of one that waits to be split. A block has its present priority, and the share to which
//     it was moved last: places follow from these.
//  6. All that makes or places jobs holds Barrier shared, so that a version of the site sees all jobs or none of a transaction.
//
// # What the machine has to know
//
//   - Claimed of a task's claim that is there: so many jobs more will hold it. Of one that is over: it is made anew. Unclaimed of one that
//     is over: nothing. Which of them it is, is known to the log alone.
//   - Enqueued with an attempt above 1 is about those of its jobs that wait: one that was killed meanwhile stays so.
//
// # Costs
//
// A job is a row and an entry of one index by id; a call has four statements beside (BenchmarkEnqueue, one caller, two busy cores):
//
//	a call of        5,000 jobs        1,000,000 jobs    WAL     disk
//	without inputs   205,000 jobs/s    321,000 jobs/s    91 B    67 B a job
//	one input, 45 B  130,000 jobs/s    236,000 jobs/s    166 B   149 B
//
// Partitions of ten million ids keep their number small: a verb looks into the index of each.
package intake
