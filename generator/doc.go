// Package generator takes tasks in and makes jobs of them, and turns what became of the jobs into the state of
// the tasks.
//
//	Submit ──▶ submitting ──Commit──▶ ready ──first lease──▶ running ──all over──▶ done      every piece finished
//	   │                      │        │ ▲                     │ ▲ │               finished  some did not
//	   └──(no streamed        ▼        │ └──┐   ┌───Resume─────┘ │ └─Retry◀──────  failed    none did
//	       inputs)──────▶  waiting     └────┴─ paused ◀──Pause───┘
//	                    (no rule yet)
//	              Finish: finishing ──running jobs over──▶ finished, or done
//	              Kill:   aborting  ──all jobs over──────▶ aborted
//
// A task with scouts is scouting with its first lease, and running once they are over; exhausted when one of them failed, until
// somebody says avalanche, as before they are over. throttled is ready, scouting or running that has to wait for a limit. Final is done; finished, failed and aborted can be retried.
//
// # Verbs
//
// What a verb makes of each state: the next state, = for a task that is already so (nothing changes), - for
// ErrState. A test holds this table, the code and the database together.
//
//	             kill      pause   resume   retry    finish  avalanche
//	submitting   aborted   -       -        -        -       -
//	waiting      aborted   -       -        -        -       -
//	ready        aborting  paused  =        -        finishing =
//	scouting     aborting  paused  =        -        finishing running
//	running      aborting  paused  =        -        finishing =
//	paused       aborting  =       resumed  -        finishing =
//	throttled    aborting  paused  =        -        finishing =
//	exhausted    aborting  -       -        -        finishing running
//	finishing    aborting  -       -        -        =       -
//	done         -         -       -        -        =       -
//	finished     -         -       -        running  =       -
//	failed       -         -       -        running  =       -
//	aborting     =         -       -        -        -       -
//	aborted      =         -       -        running  -       -
//
// resumed is the state that the task was paused in, or would have come to from throttled. Where a limit of the site concerns a task, resume and retry make it
// throttled, and Throttle lets it in. A task that is over by the time of the verb goes on at once:
// from aborting to aborted, from finishing to finished.
//
// What else one may say to a task, in the same way; clone makes another task, and the one it is said of stays what it is.
//
//	             priority  reassign  scale  clone  inputs  commit
//	submitting   =         =         -      =      =       ready
//	waiting      =         ready     -      =      -       =
//	ready        =         =         =      =      -       =
//	scouting     =         =         =      =      -       =
//	running      =         =         =      =      -       =
//	paused       =         =         =      =      -       =
//	throttled    =         =         =      =      -       =
//	exhausted    =         =         =      =      -       =
//	finishing    =         =         -      =      -       =
//	done         -         -         -      =      -       =
//	finished     =         -         -      =      -       =
//	failed       =         -         -      =      -       =
//	aborting     -         =         -      =      -       =
//	aborted      -         -         -      =      -       -
//
// commit is said again of a task that has its inputs, and refused of one that was killed before. scale is for tasks of groups, reassign moves
// nothing of a task that is over and says so. Whoever waits for other tasks stays waiting, in whatever share.
//
// # Moves
//
// Where a task may go from a state, by a verb, or by a step: as its jobs move (Settle), when its scouts are over (Sweep), by rules of a
// newer site (Sweep), by limits (Throttle), or by what becomes of the tasks that it needs (Chain). No task moves otherwise.
//
//	submitting  → waiting ready throttled aborted
//	waiting     → ready throttled finishing failed aborted
//	ready       → scouting running paused throttled finishing done finished failed aborting
//	scouting    → running paused throttled exhausted finishing failed aborting
//	running     → paused throttled exhausted finishing done finished failed aborting
//	paused      → ready scouting running throttled finishing done finished failed aborting
//	throttled   → ready scouting running paused finishing done finished failed aborting
//	exhausted   → running finishing failed aborting
//	finishing   → done finished aborting
//	finished    → running throttled waiting
//	failed      → running throttled waiting
//	aborting    → aborted
//	aborted     → running throttled waiting
//
// # Invariants
//
//  1. A piece becomes a job exactly once, whoever generates: n_generated moves in the transaction that makes the
//     jobs, under the task's row lock, from the value that was read. No input, and no event of one, is in two pieces that are
//     live or have finished, and none is left out.
//  2. A share is generated by one worker at a time. An advisory lock keeps others away and dies with its
//     connection; the epoch in generations is the proof: a worker whose decision is older than the last batch of
//     the share makes nothing.
//  3. Within a share, pieces become jobs by priority of the task, then by its id. Ready jobs of low priority
//     never keep the pieces of a higher one from becoming ready.
//  4. n_generated = n_waiting + n_ready + n_leased + n_finished + n_failed + n_cancelled, once the ledger is
//     settled. Each move of the ledger is counted once: the rows of task_lanes move in the same transaction.
//  5. A task is over when all that was generated has ended and nothing more is to come; then ended_at is set.
//  6. n_jobs = n_pieces + the jobs that try a piece again. A piece is tried again only when its task is over, and
//     each failed or cancelled job at most once: done means that every piece has finished.
//  7. A task's row is locked before its jobs, a job before a lane of the ledger, several tasks in the order of
//     their ids. Nobody waits in a circle.
//  8. Inputs are stored in order and without gaps; n_inputs is how many. Nothing of a task is generated before
//     its commit.
//
// # Where a task's jobs go
//
// A task gets its share once, by the rules of the site in force at its submission, or names it itself. Its jobs
// take that share unless the first rule that matches is about a job attribute (resource_type, queue): then
// tasks.share_id is the share of that rule, and own_share_id the one that the task named. Rules that change later
// leave tasks alone, but for those that no rule had matched: Sweep tags them anew. Retag rehearses rules on past tasks.
//
// Reassign gives a task that is not over to another share, as if it had named that itself: first the task, so that pieces
// to come are jobs of the new share, then its jobs in batches, each behind the dispatcher's barrier. Locks: site, task,
// barrier, jobs.
//
// Prioritise gives a task that may make jobs another priority: pieces to come have it at once, its live jobs in batches, each
// under the task's row lock (tasks.priority_after says how far that is). Ready jobs take the place in the order of their
// share that it makes; what runs is left alone. Until the batches are through, jobs of both priorities are ready.
//
// # Limits
//
// Limits of the site bound what tasks of a user, a share or a label may have at a time: active tasks, ready jobs, held units.
// Nothing is refused. A task that a limit concerns is throttled from its submission on; Throttle lets it in when there is
// room, and gives it a quota: up to where n_generated may come. Throttle runs on one daemon at a time, keeps what it has
// promised, and counts ended jobs as of the last Settle, which are never more than there are. So tasks that are let in
// never come to more active ones, or to more live jobs with their units, than the limit says; what is over it
// because the limit is new, or by jobs that come back to ready, goes down by itself. A job that has no slot yet
// counts with the cores of its task and the largest core_power of the queues. Tasks that become ready by another way (a new rule, another share)
// are looked at within a second, and may have made a batch by then. Paused tasks are not active, their jobs count.
//
// # Lots
//
// Where pieces are cut by weight (Split), or inputs have locations, a task has lots: its events, or the inputs that are in the
// same places, each with a cursor, the sizes that its pieces may have and their shapes. A batch cuts from the cursors on,
// by the task and the queues in force (planOf), so that pieces may be of another size from any moment on: each event of each
// input is in one piece, whatever happens. n_pieces = n_split + what the lots are thought to make yet, at least 1 while
// there is a rest; exact once all is cut. A piece takes the shape of its size, or one of its own where it needs more. Who
// tries a piece again has its shape. Tasks without lots have none of this: piece i is the i-th run of per_job.
//
// # Pieces that are split
//
// A job that failed so that a rule says split_smaller waits until Sweep has made two of its piece: it keeps the first half, a
// new job has the second, with the attempts that are left. n_pieces, n_split, n_released, n_jobs and n_generated grow by one in that
// transaction, under the task's lock; n_halves says how much of that is such, so that cursors stay where they are. Second halves have
// indexes from 10^12 on (halves), and piece i stays where it was. Scouts stay whole, as does what has no halves. A job of a task
// that is being ended is ready again whole, for the verb.
//
// # Scouts
//
// While a task has scouts that are not over (scouts, but no scouted) n_jobs is no more than these, and the task does not end.
// Sweep ends scouting: it resizes the task by what they measured, in one transaction with the lots, and n_jobs becomes n_pieces.
// An exhausted task makes no more jobs; those that it has are started and run on: what they measure is what an avalanche goes by.
//
// # Groups
//
// A task of groups and roles has jobs with names (resource.JobKey), each a piece. Until it is scaled the names follow from the
// layout and the place of the piece; from then on those of the pieces to come are stored, as inputs. Whoever tries a job
// again has its name, so it holds the same claims. Indexes are never given twice.
//
// Scale changes a number of the layout; the submitted one stays (tasks.scaled has the others). Jobs that are in both layouts
// stay as they are. Of the others, pieces to come are left out; those that are jobs are marked (scaled_away), in one
// transaction with their claims, which drain: those that run end for good, the others are cancelled in batches, which
// Sweep goes on with. A piece that was scaled away counts as if it had finished when the task is judged, and is not tried
// again. A job of the same name that is made later is another one.
//
// # Chains
//
// A task may need others (task_needs), which are older than it, so that there are no circles. It waits while one of them that
// it needs as a whole is not over, and has failed when one is over otherwise than was asked for. Chain says so; Retry looks
// again.
//
// The others it follows (tasks.chain is open) as their jobs end: outputs that finished jobs reported become its inputs, or
// pieces of it that correspond to pieces which are over may be jobs (released_pieces; n_released counts them, and stands
// for n_pieces in what is said of n_jobs above). Each end counts once: it is a bit of need_pieces, by the index of the piece,
// set in the transaction that does what follows from it; a piece that was split is over with the last of its parts, unless it had
// counted before. None is missed: the last round over a task's ended jobs begins when
// that task is over, and what has finished by its counts and was not found is a fault. While its chain is open a task is not
// over; it is not done where the chain was broken.
//
// # Deadlines
//
// A task may have a deadline (task_deadlines). Forecast says when it will be over: what is left at the rate at which its jobs
// ended lately. One that is likely to be late gains its boost of priority, once; it keeps it.
//
// # Steps
//
// Generate, Settle, Sweep, Throttle, Chain and Forecast are bounded, idempotent and safe on any number of daemons at once; somebody calls
// them every few hundred milliseconds, and Generate again at once while it makes jobs. What a generator keeps ready
// of each share and shape follows Mark. Shares with nothing ready come first, in the order in which slots would go to them
// (Config.Order), and with a small batch while there are several: pulls wait for them. Where more than a hundred tasks are live, one reading of their counts serves many
// batches: a task of higher priority that comes meanwhile is seen with the next one, five seconds later at most. Verbs act on the first batch of jobs at once, in all
// tasks that they are said to; Sweep goes on from there, with many tasks in a transaction.
//
// # What a job costs
//
// BenchmarkTenThousandTasks, µs of CPU a task of ten jobs, this process / PostgreSQL: submitted 50 / 65, its jobs made 40 / 132,
// paused 70 / 238, resumed 78 / 297, killed 87 / 314.
//
// BenchmarkGenerate, µs of CPU a job, tasks by count / by inputs: this process 1.3 / 1.7, PostgreSQL 5.9 / 7.6, with
// two workers on two cores; before, 2.8 / 3.3 and 16.5 / 17. What it was, one backend at a time:
//
//   - the foreign keys of jobs, two triggers a row: 8.3 of the 11.8 µs of a COPY; gone, Enqueue looks once a batch;
//
//   - pg_get_serial_sequence for each id: 2.7 µs; with the sequence as a constant 0.45; by sixteen it is next to nothing;
//
//   - a COPY of a thousand rows or more costs 1.6 ms beside them, as PostgreSQL 15 remembers each of a thousand row buffers in a
//     table where all look alike: a batch of 1700 1 µs a job, one of 5000 0.3; so a share that lacks jobs is filled up whole;
//
//   - pgx's CopyFrom: 1.4 µs in this process; Enqueue writes the stream itself.
//
//   - indexes by task and for the ready order: 0.7 and 1.3 µs, 75 and 113 of 344 bytes, where tasks and shares come in their order;
//     2 to 2.5 µs each where they come mixed, as an entry that is not at the end of an index is searched for from its root. Ranges of
//     ids (job_ranges, ready_ranges) cost next to nothing.
//
// Left as they are: the key 0.6, the CHECKs 0.1. INSERT … SELECT logs each row, COPY each page: 0.4 µs and 47 bytes more.
package generator
