package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Verb is what people say to a task.
type Verb string

// The verbs.
const (
	VerbKill   Verb = "kill"   // end everything now
	VerbPause  Verb = "pause"  // start nothing more; what runs runs on
	VerbResume Verb = "resume" // undo pause
	VerbRetry  Verb = "retry"  // make new jobs for what did not finish
	VerbFinish Verb = "finish" // soft end: what runs runs to its end, the rest is dropped
)

// Change is what a verb changed at once; More says that the batches go on in the background.
type Change struct {
	Task   int64  `json:"task"`
	Verb   Verb   `json:"verb"`
	Before string `json:"before" doc:"State before."`
	After  string `json:"after" doc:"State now; the same as before when there was nothing to do."`
	Ready  int    `json:"ready" doc:"Jobs that were not running and were cancelled, held back or released."`
	Leased int    `json:"leased" doc:"Running attempts that were told to end."`
	Again  int64  `json:"again" doc:"Pieces that will be tried again or made after all."`
	More   bool   `json:"more" doc:"There are more jobs than one batch: the rest follows in the background."`
}

// same in the table below: the task is already so, or on its way.
const same = "="

// resumed in the table below: the state that the task was paused in.
const resumed = "resumed"

// next is the one table of what a verb makes of a state; what is not in it is refused. doc.go shows it.
var next = map[Verb]map[string]string{
	VerbKill: {"submitting": "aborted", "waiting": "aborted", "ready": "aborting", "scouting": "aborting", "running": "aborting",
		"paused": "aborting", "throttled": "aborting", "exhausted": "aborting", "finishing": "aborting", "aborting": same, "aborted": same},
	VerbPause:  {"ready": "paused", "scouting": "paused", "running": "paused", "paused": same},
	VerbResume: {"paused": resumed, "ready": same, "scouting": same, "running": same},
	VerbRetry:  {"finished": "running", "failed": "running"},
	VerbFinish: {"ready": "finishing", "scouting": "finishing", "running": "finishing", "paused": "finishing", "throttled": "finishing",
		"exhausted": "finishing", "finishing": same, "done": same, "finished": same, "failed": same},
}

// hints for verbs that were refused.
var refusals = map[Verb]string{
	VerbRetry: "finished and failed tasks can be retried",
	VerbPause: "tasks that are ready or running can be paused",
	VerbKill:  "it is over",
}

// Kill ends a task: its jobs are cancelled, running attempts are told to end. Aborting until they have.
func (g *Generator) Kill(ctx context.Context, id int64) (Change, error) {
	return g.say(ctx, VerbKill, id)
}

// Pause holds back all that does not run yet.
func (g *Generator) Pause(ctx context.Context, id int64) (Change, error) {
	return g.say(ctx, VerbPause, id)
}

// Resume undoes Pause; jobs come back at their old places.
func (g *Generator) Resume(ctx context.Context, id int64) (Change, error) {
	return g.say(ctx, VerbResume, id)
}

// Retry gives every piece of a finished or failed task that did not finish a new job.
func (g *Generator) Retry(ctx context.Context, id int64) (Change, error) {
	return g.say(ctx, VerbRetry, id)
}

// Finish ends a task softly: nothing new starts, running jobs run to their end.
func (g *Generator) Finish(ctx context.Context, id int64) (Change, error) {
	return g.say(ctx, VerbFinish, id)
}

// say does one verb in one transaction. Errors: ErrNoTask, ErrState; for a retry whose share is gone ErrInvalid
// and ErrUntagged too.
func (g *Generator) say(ctx context.Context, verb Verb, id int64) (Change, error) {
	var st *site.Site
	if verb == VerbRetry {
		var err error
		if st, err = g.cfg.Site(ctx); err != nil {
			return Change{}, fmt.Errorf("%s: site: %w", verb, err)
		}
	}
	var c Change
	err := pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) (err error) {
		t, err := lockTask(ctx, tx, id)
		if err != nil {
			return err
		}
		c = Change{Task: id, Verb: verb, Before: t.State, After: t.State}
		after, ok := next[verb][t.State]
		switch {
		case !ok:
			return &StateError{Task: id, Verb: string(verb), State: t.State, Hint: refusals[verb]}
		case after == same:
			return nil
		case verb == VerbRetry:
			return retry(ctx, tx, retryRequest{task: t, site: st, change: &c})
		}
		return act(ctx, tx, t, after, &c)
	})
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", verb, err)
	}
	if verb == VerbRetry || verb == VerbResume {
		g.hint()
	}
	if c.Before != c.After && verb != VerbRetry {
		g.report(verdict{ID: id, Before: c.Before, After: c.After})
	}
	return c, nil
}

// act puts the task into its next state, moves the first batch of its jobs and judges whether it is over.
func act(ctx context.Context, tx pgx.Tx, t lockedTask, after string, c *Change) error {
	args := pgx.StrictNamedArgs{"task": t.ID, "before": t.State, "after": after, "resume_state": nil, "sweep": true, "reason": ""}
	switch {
	case after == "paused":
		args["resume_state"] = t.State
	case after == resumed:
		after = t.ResumeState
		args["after"] = after
	case c.Verb == VerbKill:
		args["reason"] = "killed"
	case c.Verb == VerbFinish:
		args["reason"] = "finished early"
	}
	tag, err := tx.Exec(ctx, query["set_state"], args)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("task %d left state %s under its lock", t.ID, t.State)
	}
	swept, err := carryOn(ctx, tx, t.ID, after)
	if err != nil {
		return err
	}
	c.Ready, c.Leased, c.More = swept.Ready, swept.Leased, swept.More
	verdicts, err := count(ctx, tx, still([]int64{t.ID}))
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		c.After = v.After
	}
	return nil
}

type retryRequest struct {
	task   lockedTask
	site   *site.Site
	change *Change
}

// retry asks for new jobs; Generate makes them. A share that is no leaf any more is looked for anew.
func retry(ctx context.Context, tx pgx.Tx, r retryRequest) error {
	t := r.task
	if err := reshare(ctx, tx, t, r.site); err != nil {
		return err
	}
	var again int64
	err := tx.QueryRow(ctx, query["retry"], pgx.StrictNamedArgs{"task": t.ID, "before": t.State}).Scan(&again)
	if errors.Is(err, pgx.ErrNoRows) {
		return &StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: "nothing of it is left to try again"}
	}
	if err != nil {
		return err
	}
	r.change.After, r.change.Again = "running", again
	return nil
}

// lockedTask is a task under its row lock.
type lockedTask struct {
	ID          int64
	State       string
	ResumeState string
	Committed   bool
	Split       string
	PerJob      int64
	NInputs     int64
	ShareID     *int32
	Attributes  map[string]string
}

func (t *lockedTask) share() shares.ShareID {
	if t.ShareID == nil {
		return 0
	}
	return shares.ShareID(*t.ShareID)
}

func lockTask(ctx context.Context, tx pgx.Tx, id int64) (lockedTask, error) {
	rows, err := tx.Query(ctx, query["lock"], pgx.StrictNamedArgs{"task": id})
	if err != nil {
		return lockedTask{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[lockedTask])
	if errors.Is(err, pgx.ErrNoRows) {
		return lockedTask{}, ErrNoTask
	}
	return t, err
}

// verbBatch is how many jobs one transaction of a verb moves.
const verbBatch = 5000

// carryOn moves one batch of the jobs of a locked task to where its state wants them.
func carryOn(ctx context.Context, tx pgx.Tx, id int64, state string) (c dispatcher.Cancellation, err error) {
	switch state {
	case "paused":
		c.Ready, c.More, err = dispatcher.HoldTask(ctx, tx, id, verbBatch)
	case "ready", "scouting", "running":
		c.Ready, c.More, err = dispatcher.ReleaseTask(ctx, tx, id, verbBatch)
	case "finishing":
		c.Ready, c.More, err = dispatcher.CancelIdle(ctx, tx, id, verbBatch)
	case "aborting":
		c, err = dispatcher.CancelTask(ctx, tx, id, "killed", verbBatch)
	}
	return c, err
}
