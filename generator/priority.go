package generator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
)

// PriorityChange is what a change of priority changed. Jobs are counted as the log was folded when it was said, a second ago or two: all
// that the task has follow.
type PriorityChange struct {
	Task    int64 `json:"task"`
	Before  int   `json:"before" doc:"Priority before."`
	After   int   `json:"after" doc:"Priority now: of pieces to come, and of jobs."`
	Waiting int64 `json:"waiting" doc:"Waiting jobs that have it now: as of a second or two ago."`
	Ready   int64 `json:"ready" doc:"Ready jobs that have it now, and their place in the order of the share by it: as of a second or two ago."`
	Leased  int64 `json:"leased" doc:"Running jobs that will have it if they come back, as of a second or two ago; the attempts that run are not touched."`
}

// Prioritise gives a task another priority, and its jobs. A repeat changes nothing. Errors: ErrNoTask, ErrInvalid, and ErrState for a task
// that makes no more jobs (done, aborting, aborted); one that can be retried keeps the priority for that.
func (g *Verbs) Prioritise(ctx context.Context, id int64, priority int) (PriorityChange, error) {
	if priority > spec.MaxPriority || priority < -spec.MaxPriority {
		return PriorityChange{}, spec.Invalid("priority", fmt.Sprintf("%d is not in %d … %d", priority, -spec.MaxPriority, spec.MaxPriority), "")
	}
	var c PriorityChange
	err := g.write(ctx, func(tx pgx.Tx) (err error) {
		if err := steady(ctx, tx); err != nil {
			return err
		}
		t, err := lockTask(ctx, tx, id)
		if err != nil {
			return err
		}
		switch t.State {
		case "done", "aborting", "aborted":
			return &judge.StateError{Task: id, Verb: "change the priority", State: t.State, Hint: "it makes no more jobs"}
		}
		c = PriorityChange{Task: id, After: priority}
		if err = tx.QueryRow(ctx, query["prioritise"], pgx.StrictNamedArgs{"task": id, "priority": priority}).Scan(&c.Before); err != nil {
			return err
		}
		if c.Before == priority {
			return nil
		}
		c.Waiting, c.Ready, c.Leased = t.NWaiting, t.NIdle-t.NWaiting, t.NLeased
		if err := intake.Prioritise(ctx, tx, id, priority); err != nil {
			return err
		}
		return record(ctx, tx, VerbPrioritise, id, strconv.Itoa(c.Before), strconv.Itoa(c.After))
	})
	if err != nil {
		return PriorityChange{}, fmt.Errorf("priority: %w", err)
	}
	g.hint() // its pieces may be the most urgent ones now
	return c, nil
}
