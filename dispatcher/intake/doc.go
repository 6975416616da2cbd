// Package intake holds what transactions of other packages do to jobs: make, move, place, pause, end and split them, and change target slots
// and capacities. It writes its own tables and, in the same transaction, entries for the log into the outbox; it never writes the log.
//
//	generator, api, site ──▶ tables and a row of outbox, one commit ──Pending──▶ leader ──▶ the log has the entries and the row is gone,
//	                                                                                        or it is marked refused: one commit
//
// # For the leader
//
// The leader needs only Outbox.Pending, and AwaitSplit if an end says so. It applies the entries of a row all or
// none, in the order of the ids. Appends remove the rows from the outbox (package ledger, AppendWith). A row of a
// newer version waits for a leader of that version. Callers tell the leader after their commit; this package does
// not.
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
//  2. Ids of a call are consecutive, those of a block are alike, each job has one block. An id is never given twice.
//  3. Outbox rows about one task have ids in the order of their commits: a writer holds the task's row, or Barrier,
//     or locks the blocks concerned. A shape is written before the jobs that have it.
//  4. This package does not know what runs. Only the log knows what is live, leased or over, so a verb is one entry a
//     task, or one a block where order keys differ, and costs the same for any number of jobs.
//  5. Rows of jobs never change, except the piece of a job that waits to be split. A block has its present priority and last share; order
//     keys follow from these.
//  6. Transactions that make or place jobs hold Barrier shared, so that a version of the site sees all or none of
//     their jobs.
//
// # What the machine has to know
//
//   - Claimed of an existing claim of a task: so many more jobs will hold it; of a claim that is over: it is made anew. Unclaimed of a claim
//     that is over does nothing. Only the log knows which case it is.
//   - Enqueued with an attempt above 1 concerns only jobs that wait: a job that was killed meanwhile stays killed.
//
// # Costs
//
// A job costs a row and an index entry by id; a call has four more statements (BenchmarkEnqueue, one caller, two busy
// cores):
//
//	a call of        5,000 jobs        1,000,000 jobs    WAL     disk
//	without inputs   205,000 jobs/s    321,000 jobs/s    91 B    67 B a job
//	one input, 45 B  130,000 jobs/s    236,000 jobs/s    166 B   149 B
//
// Partitions of ten million ids keep their number small: a verb looks into the index of each.
package intake
