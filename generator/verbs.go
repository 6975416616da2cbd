package generator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/shares"
)

// Verb is what people say to a task.
type Verb string

// The verbs.
const (
	VerbKill   Verb = "kill"   // end everything now: jobs are cancelled, attempts are told to end; aborting until they have
	VerbPause  Verb = "pause"  // start nothing more; what runs runs on
	VerbResume Verb = "resume" // undo pause; jobs come back at their old places
	VerbRetry  Verb = "retry"  // make new jobs for what did not finish
	VerbFinish Verb = "finish" // soft end: what runs runs to its end, the rest is dropped
	// VerbAvalanche ends the scouting, whatever the scouts have come to: the rest is made by what those measured that have
	// finished. A task that a scout has stopped goes on.
	VerbAvalanche Verb = "avalanche"
)

// Change is what a verb changed. Jobs are counted as the log was folded when it was said, a second ago or two: the verb is about all
// that the task has.
type Change struct {
	Task   int64  `json:"task"`
	Verb   Verb   `json:"verb"`
	Before string `json:"before" doc:"State before."`
	After  string `json:"after" doc:"State now; the same as before when there was nothing to do."`
	Ready  int    `json:"ready" doc:"Jobs that were not running and are cancelled, held back or released: as of a second or two ago."`
	Leased int    `json:"leased" doc:"Running attempts that are told to end: as of a second or two ago."`
	Again  int64  `json:"again" doc:"Pieces that will be tried again or made after all."`
}

// same in the table below: the task is already so, or on its way.
const same = "="

// resumed in the table below: the state that the task was paused in.
const resumed = "resumed"

// next is the one table of what a verb makes of a state; what is not in it is refused. doc.go shows it.
var next = map[Verb]map[string]string{
	VerbKill: {"submitting": "aborted", "waiting": "aborted", "ready": "aborting", "scouting": "aborting", "running": "aborting",
		"paused": "aborting", "throttled": "aborting", "exhausted": "aborting", "finishing": "aborting", "aborting": same, "aborted": same},
	VerbPause:  {"ready": "paused", "scouting": "paused", "running": "paused", "throttled": "paused", "paused": same},
	VerbResume: {"paused": resumed, "ready": same, "scouting": same, "running": same, "throttled": same},
	VerbRetry:  {"finished": "running", "failed": "running", "aborted": "running"},
	VerbFinish: {"ready": "finishing", "scouting": "finishing", "running": "finishing", "paused": "finishing", "throttled": "finishing",
		"exhausted": "finishing", "finishing": same, "done": same, "finished": same, "failed": same},
	VerbAvalanche: {"ready": same, "scouting": "running", "running": same, "paused": same, "throttled": same, "exhausted": "running"},
}

// VerbsFor lists what can be said to a task in a state and would change something, the mildest first.
func VerbsFor(state string) (verbs []Verb) {
	for _, v := range []Verb{VerbResume, VerbPause, VerbAvalanche, VerbRetry, VerbFinish, VerbKill} {
		if after, ok := next[v][state]; ok && after != same {
			verbs = append(verbs, v)
		}
	}
	return verbs
}

// hints for verbs that were refused.
var refusals = map[Verb]string{
	VerbRetry:     "finished, failed and aborted tasks can be retried; one that is exhausted goes on by avalanche",
	VerbPause:     "tasks that are ready, running or throttled can be paused",
	VerbKill:      "it is over",
	VerbAvalanche: "it makes no more jobs, or none yet",
}

// Say says one verb of the table to a task, in one transaction; with are the changes of a retry, nil for none: the jobs that try
// again, and pieces that never were jobs, are made with them, and the task shows them in its Spec from then on. Errors: ErrNoTask,
// ErrState; for a retry whose share is gone ErrInvalid and ErrUntagged too.
func (g *Verbs) Say(ctx context.Context, verb Verb, id int64, with *spec.Changes) (c Change, err error) {
	if !plain(verb) {
		c, err = g.sayAlone(ctx, verb, id, with)
	} else {
		var told []toldTask
		if told, err = g.tell(ctx, verb, []int64{id}); err == nil {
			c, err = told[0].Change, told[0].refused
		}
	}
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", verb, err)
	}
	return c, nil
}

// sayAlone does a verb for which each task needs a look of its own.
func (g *Verbs) sayAlone(ctx context.Context, verb Verb, id int64, with *spec.Changes) (c Change, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return c, fmt.Errorf("site: %w", err)
	}
	err = g.write(ctx, func(tx pgx.Tx) error {
		t, err := lockTask(ctx, tx, id)
		if err != nil {
			return err
		}
		c = Change{Task: id, Verb: verb, Before: t.State, After: t.State}
		if _, ok := next[verb][t.State]; !ok {
			return refusal(verb, &t)
		}
		if verb == VerbAvalanche {
			err = avalanche(ctx, tx, id, st.Queues, &c)
		} else {
			err = retry(ctx, tx, retryRequest{task: t, site: st, with: with, change: &c})
		}
		if err != nil {
			return err
		}
		return record(ctx, tx, verb, id, c.Before, c.After)
	})
	if err != nil {
		return c, err
	}
	g.hint()
	if verb != VerbRetry {
		g.reportChange(c)
	}
	return c, nil
}

func refusal(verb Verb, t *lockedTask) error {
	return &judge.StateError{Task: t.ID, Verb: string(verb), State: t.State, Hint: refusals[verb]}
}

func (g *Verbs) reportChange(c Change) {
	if c.Before != c.After {
		g.report(judge.Verdict{ID: c.Task, Before: c.Before, After: c.After})
	}
}

// lockedTask is a task under its row lock.
type lockedTask struct {
	ID          int64
	UserName    string
	State       string
	ResumeState string
	Committed   bool
	Split       string
	PerJob      int64
	NInputs     int64
	ShareID     *int32
	Attributes  map[string]string
	Chained     bool // it needs other tasks
	InLots      bool
	NGenerated  int64
	NWaiting    int64 // as of folded, like those below
	NIdle       int64 // made, not over and without a lease: the waiting ones among them
	NLeased     int64
}

func (t *lockedTask) share() shares.ShareID {
	if t.ShareID == nil {
		return 0
	}
	return shares.ShareID(*t.ShareID)
}

func lockTask(ctx context.Context, tx pgx.Tx, id int64) (lockedTask, error) {
	tasks, err := lockTasks(ctx, tx, []int64{id})
	if err != nil {
		return lockedTask{}, err
	}
	if len(tasks) == 0 {
		return lockedTask{}, view.ErrNoTask
	}
	return tasks[0], nil
}

// lockTasks locks those that there are.
func lockTasks(ctx context.Context, tx pgx.Tx, ids []int64) ([]lockedTask, error) {
	rows, err := tx.Query(ctx, query["lock"], pgx.StrictNamedArgs{"tasks": ids})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[lockedTask])
}
