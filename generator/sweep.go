package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
)

// Bounds of one Sweep: tasks whose verbs it carries on, and tasks that it tags anew in one transaction.
const (
	sweepTasks  = 50
	retagBatch  = 200
	retagRounds = 20
)

// Sweep carries on what a verb began: it holds, releases or cancels the next batch of jobs of each task that is not
// through, jobs included that came back to ready meanwhile, cancels those that their task was scaled away from, and gives the
// others the priority that their task has got. It also tags
// tasks anew that no rule had matched before the site changed. It returns the jobs that it moved and the tasks that it
// tagged.
func (g *Generator) Sweep(ctx context.Context) (n int, err error) {
	for _, step := range []func(ctx context.Context, after int64) (id int64, moved int, err error){g.sweep, g.sweepScaled, g.sweepPriority} {
		after := int64(0)
		for range sweepTasks {
			id, moved, err := step(ctx, after)
			if err != nil {
				return n, fmt.Errorf("sweep: %w", err)
			}
			if id == 0 {
				break
			}
			after, n = id, n+moved
		}
	}
	tagged, err := g.retag(ctx)
	if err != nil {
		return n, fmt.Errorf("retag: %w", err)
	}
	return n + tagged, nil
}

// sweep serves the next task behind after; id is 0 when there is none.
func (g *Generator) sweep(ctx context.Context, after int64) (id int64, moved int, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		id, moved = 0, 0
		var state string
		err := tx.QueryRow(ctx, query["next_sweep"], pgx.StrictNamedArgs{"after": after}).Scan(&id, &state)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		c, err := sweepJobs(ctx, tx, id, state)
		if err != nil {
			return err
		}
		moved = c.Ready + c.Leased
		released := state == "ready" || state == "scouting" || state == "running"
		if released && !c.More {
			_, err = tx.Exec(ctx, query["swept"], pgx.StrictNamedArgs{"task": id, "state": state})
		}
		return err
	})
	return id, moved, err
}

// sweepJobs is carryOn, but orders to running attempts of a killed task go out once its last idle job is gone: those
// that ran at the kill have theirs, and looking for leases with each batch would cost more than the batch.
func sweepJobs(ctx context.Context, tx pgx.Tx, id int64, state string) (c dispatcher.Cancellation, err error) {
	if state != "aborting" {
		return carryOn(ctx, tx, id, state)
	}
	n, more, err := dispatcher.CancelIdle(ctx, tx, id, verbBatch)
	if err != nil || more {
		return dispatcher.Cancellation{Ready: n, More: more}, err
	}
	c, err = carryOn(ctx, tx, id, state)
	c.Ready += n
	return c, err
}

// retag looks at waiting tasks that were tagged under an older site version.
func (g *Generator) retag(ctx context.Context) (n int, err error) {
	var waiting bool
	if err := g.cfg.Pool.QueryRow(ctx, query["any_waiting"]).Scan(&waiting); err != nil || !waiting {
		return 0, err
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("site: %w", err)
	}
	after := int64(0)
	for range retagRounds {
		last, tagged, err := g.retagBatch(ctx, st, after)
		if err != nil {
			return n, err
		}
		n += tagged
		if last == 0 {
			break
		}
		after = last
	}
	if n > 0 {
		g.hint()
	}
	return n, nil
}

// waitingTask is a task that no rule has matched.
type waitingTask struct {
	ID         int64
	Attributes map[string]string
}

// retagBatch tags the next waiting tasks behind after; last is 0 when there are no more.
func (g *Generator) retagBatch(ctx context.Context, st *site.Site, after int64) (last int64, n int, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		last, n = 0, 0
		rows, err := tx.Query(ctx, query["next_waiting"], pgx.StrictNamedArgs{"after": after, "site_version": st.Number, "limit": retagBatch})
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[waitingTask])
		if err != nil {
			return err
		}
		for _, t := range tasks {
			tag := tagAgain(st, t.Attributes)
			if err := stillLeaf(ctx, tx, tag.Share); err != nil {
				if errors.Is(err, ErrSiteChanged) {
					return nil // the site is newer than what we see: next time
				}
				return err
			}
			_, err := tx.Exec(ctx, query["tag"], pgx.StrictNamedArgs{"task": t.ID, "state": tag.State, "reason": tag.Reason,
				"share": shareArg(tag.Share), "tagged_by": tag.By, "site_version": st.Number})
			if err != nil {
				return err
			}
			if tag.Share != 0 {
				n++
			}
		}
		if len(tasks) == retagBatch {
			last = tasks[len(tasks)-1].ID
		}
		return nil
	})
	return last, n, err
}
