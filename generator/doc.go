// Package generator takes tasks in and makes jobs of them, and turns what became of the jobs into the state of the tasks.
//
// What a verb makes of each state: the next state, = for a task that is already so or stays as it is, - for ErrState. resumed is the state
// that the task was paused in. Where a limit of the site concerns a task, resume and retry make it throttled. A task that is over by then goes
// on at once: from aborting to aborted, from finishing to finished. Tests hold the tables, the code and the database together.
//
//	             kill      pause   resume   retry    finish     avalanche  priority  reassign  scale  clone  inputs  commit
//	submitting   aborted   -       -        -        -          -          =         =         -      =      =       ready
//	waiting      aborted   -       -        -        -          -          =         ready     -      =      -       =
//	ready        aborting  paused  =        -        finishing  =          =         =         =      =      -       =
//	scouting     aborting  paused  =        -        finishing  running    =         =         =      =      -       =
//	running      aborting  paused  =        -        finishing  =          =         =         =      =      -       =
//	paused       aborting  =       resumed  -        finishing  =          =         =         =      =      -       =
//	throttled    aborting  paused  =        -        finishing  =          =         =         =      =      -       =
//	exhausted    aborting  -       -        -        finishing  running    =         =         =      =      -       =
//	finishing    aborting  -       -        -        =          -          =         =         -      =      -       =
//	done         -         -       -        -        =          -          -         -         -      =      -       =
//	finished     -         -       -        running  =          -          =         -         -      =      -       =
//	failed       -         -       -        running  =          -          =         -         -      =      -       =
//	aborting     =         -       -        -        -          -          -         =         -      =      -       =
//	aborted      =         -       -        running  -          -          -         -         -      =      -       -
//
// Where a task may go from a state, by a verb, or by a step: as its jobs move (Settle), when its scouts are over or the site has new rules
// (Sweep), by limits (Throttle), or by what becomes of the tasks that it needs (Chain).
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
//  1. A piece becomes a job exactly once: n_generated moves in the transaction that makes the jobs, under the task's row lock and the epoch of
//     its share (generations). No input or event is in two pieces that are live or have finished, and none is left out.
//  2. Within a share, pieces become jobs by priority of the task, then by its id.
//  3. What is said to jobs is in the outbox, an entry a task, in the transaction of the verb; nothing here waits for the log. Counts of jobs
//     are those of the fold (counted_tasks), so answers have them as of a second ago. Never more have ended than are counted as made.
//  4. A task is over when all that was generated has ended and nothing more is to come. Who changes n_generated, n_jobs, the chain or the
//     state judges it in the same transaction; Settle judges those that the fold has changed, from settled on.
//  5. n_jobs = n_pieces + the jobs that try a piece again, each failed or cancelled job once, and only when the task was over.
//  6. Locks: site, steady (which a change of the site takes exclusively), shares, tasks by id. Nobody waits in a circle.
//  7. Limits: Throttle alone promises jobs (quota), on one daemon at a time, and keeps what it promised.
//
// Submissions takes tasks in, Verbs says to them what people want, Generator has the steps (Generate, Settle, Sweep, Throttle, Chain,
// Forecast): these are bounded, idempotent and safe on any number of daemons at once.
package generator
