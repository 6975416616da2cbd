package dispatcher

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Walk is a step of a verb along the live jobs of tasks, of each by rising id: what a verb costs does not grow with what it
// has gone through before. The caller holds the rows of the tasks.
type Walk struct {
	Along []Stretch // of each task one
	Limit int       // of jobs that it acts on, in all
}

// Stretch is where a walk goes on in one task.
type Stretch struct {
	Task  int64
	After int64 // jobs with larger ids
}

// Walked counts what a step reached in one task.
type Walked struct {
	Idle   int   // waiting and ready jobs that went to the state that the verb wants
	Leased int   // running attempts that got a cancel order
	More   bool  // there may be more: call again
	Next   int64 // after this id
}

// walkedOver is a job on the way of a walk.
type walkedOver struct {
	TaskID int64
	ID     int64
	Idle   bool // nobody runs it, and it is in a state that was asked for
}

// lookAhead is how many jobs a walk passes over for each one that it may act on: those that run, or are so already.
const lookAhead = 4

// fairShare is how many jobs of a task a walk along many may see, however many they are.
const fairShare = 200

// look reads the next jobs, up to the last that the walk may act on, without a lock. Of every task they are those right
// behind its After; one with many jobs does not keep the walk from the others.
func (w Walk) look(ctx context.Context, tx pgx.Tx, states ...string) (out []Walked, jobs []walkedOver, err error) {
	n := lookAhead * w.Limit
	tasks, afters := make([]int64, len(w.Along)), make([]int64, len(w.Along))
	for i, s := range w.Along {
		tasks[i], afters[i] = s.Task, s.After
	}
	each := max(n/max(len(w.Along), 1), fairShare)
	jobs, err = collect[walkedOver](ctx, tx, "look_on", pgx.StrictNamedArgs{"tasks": tasks, "afters": afters, "states": states,
		"each": each, "n": n})
	if err != nil {
		return nil, nil, err
	}
	cut := len(jobs) == n
	idle := 0
	for i, j := range jobs {
		if j.Idle {
			idle++
		}
		if idle == w.Limit {
			cut = cut || i < len(jobs)-1
			jobs = jobs[:i+1]
			break
		}
	}
	out = w.came(jobs, each)
	if cut { // in the midst of a task, and before those of which no job was seen
		for i, s := range w.Along {
			out[i].More = out[i].More || out[i].Next == s.After || s.Task == jobs[len(jobs)-1].TaskID
		}
	}
	return out, jobs, nil
}

// came says how far a walk has come in each task, and that it has more where it has seen its full number.
func (w Walk) came(jobs []walkedOver, each int) []Walked {
	last, n := map[int64]int64{}, byTask{}
	for _, j := range jobs {
		last[j.TaskID] = j.ID
		n[j.TaskID]++
	}
	out := make([]Walked, len(w.Along))
	for i, s := range w.Along {
		out[i] = Walked{Next: max(last[s.Task], s.After), More: n[s.Task] == each}
	}
	return out
}

// lockIdle locks the next jobs that nobody runs, in the order of their ids. A grant in flight may still win one of them:
// whoever acts on the ids checks again, in a statement of its own that sees what was committed meanwhile.
func (w Walk) lockIdle(ctx context.Context, tx pgx.Tx, states ...string) (out []Walked, ids []int64, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return nil, nil, err
	}
	out, jobs, err := w.look(ctx, tx, states...)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range jobs {
		if j.Idle {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return out, nil, nil
	}
	ids, err = column(ctx, tx, "lock_jobs", pgx.StrictNamedArgs{"ids": ids})
	return out, ids, err
}

// reached notes the idle jobs that a step acted on.
func (w Walk) reached(out []Walked, idle byTask) {
	for i, s := range w.Along {
		out[i].Idle = idle[s.Task]
	}
}
