package generator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// PriorityChange is what a change of priority changed at once; More says that the batches go on in the background.
type PriorityChange struct {
	Task    int64 `json:"task"`
	Before  int   `json:"before" doc:"Priority before."`
	After   int   `json:"after" doc:"Priority now: of pieces to come, and of jobs as their turn comes."`
	Waiting int64 `json:"waiting" doc:"Waiting jobs that have it now."`
	Ready   int64 `json:"ready" doc:"Ready jobs that have it now, and their place in the order of the share by it."`
	Leased  int64 `json:"leased" doc:"Running jobs that will have it if they come back; the attempts that run are not touched."`
	More    bool  `json:"more" doc:"There are more jobs than one batch: the rest follows in the background."`
}

// Prioritise gives a task another priority, and its jobs: the first batch of them at once, Sweep goes on from there. A
// repeat changes nothing. Errors: ErrNoTask, ErrInvalid, and ErrState for a task that makes no more jobs (done,
// aborting, aborted); one that can be retried keeps the priority for that.
func (g *Generator) Prioritise(ctx context.Context, id int64, priority int) (PriorityChange, error) {
	if priority > maxPriority || priority < -maxPriority {
		return PriorityChange{}, fault("priority", fmt.Sprintf("%d is not in %d … %d", priority, -maxPriority, maxPriority), "")
	}
	var c PriorityChange
	err := pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) (err error) {
		t, err := lockTask(ctx, tx, id)
		if err != nil {
			return err
		}
		switch t.State {
		case "done", "aborting", "aborted":
			return &StateError{Task: id, Verb: "change the priority", State: t.State, Hint: "it makes no more jobs"}
		}
		c = PriorityChange{Task: id, After: priority}
		if err = tx.QueryRow(ctx, query["prioritise"], pgx.StrictNamedArgs{"task": id, "priority": priority}).Scan(&c.Before); err != nil {
			return err
		}
		if c.Before == priority {
			return nil
		}
		done, err := prioritiseJobs(ctx, tx, stubPriority{Task: id, Priority: priority})
		c.Waiting, c.Ready, c.Leased, c.More = done.Waiting, done.Ready, done.Leased, done.More
		if err != nil {
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

// prioritiseJobs gives the next batch of jobs of a locked task its priority, and notes where that ended.
func prioritiseJobs(ctx context.Context, tx pgx.Tx, p stubPriority) (stubPrioritised, error) {
	done, err := stubPrioritise(ctx, tx, p)
	if err != nil {
		return done, err
	}
	args := pgx.StrictNamedArgs{"task": p.Task, "after": nil}
	if done.More {
		args["after"] = done.Next
	}
	_, err = tx.Exec(ctx, query["prioritised"], args)
	return done, err
}

// sweepPriority serves the next task behind after whose jobs do not all have its priority; id is 0 when there is none.
func (g *Generator) sweepPriority(ctx context.Context, after int64) (id int64, n int, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		id, n = 0, 0
		var p stubPriority
		err := tx.QueryRow(ctx, query["next_priority"], pgx.StrictNamedArgs{"after": after}).Scan(&p.Task, &p.Priority, &p.After)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		done, err := prioritiseJobs(ctx, tx, p)
		id, n = p.Task, int(done.Waiting+done.Ready+done.Leased)
		if done.More {
			n = max(n, 1) // go on at once, also past jobs that have it already
		}
		return err
	})
	return id, n, err
}
