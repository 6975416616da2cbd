package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
)

// Bounds of one Sweep: transactions that carry verbs on, the tasks of one, and tasks that it tags anew in one transaction.
const (
	sweepRounds = 50
	sweepTasks  = 100
	retagBatch  = 200
	retagRounds = 20
)

// Sweep carries on what a verb began: it holds, releases or cancels the next batch of jobs of each task that is not
// through, jobs included that came back to ready meanwhile, cancels those that their task was scaled away from, and gives the
// others the priority that their task has got. It ends scouting, and splits the pieces of jobs of which a rule says so. It also tags
// tasks anew that no rule had matched before the site changed. It returns the jobs that it moved and the tasks that it
// tagged.
func (g *Generator) Sweep(ctx context.Context) (n int, err error) {
	for _, step := range []func(ctx context.Context, after int64) (id int64, moved int, err error){g.sweep, g.sweepScaled, g.sweepPriority, g.scout, g.halve} {
		after := int64(0)
		for range sweepRounds {
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

// sweep serves the next tasks behind after, those that go the same way in one transaction; id is the last one that it came
// to, 0 when there is none.
func (g *Generator) sweep(ctx context.Context, after int64) (id int64, moved int, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		id, moved = 0, 0
		rows, err := tx.Query(ctx, query["next_sweep"], pgx.StrictNamedArgs{"after": after, "limit": sweepTasks})
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[sweeping])
		if err != nil || len(tasks) == 0 {
			return err
		}
		way, some := together(tasks)
		walked, err := carryOn(ctx, tx, way, some)
		for i, w := range walked {
			if n := w.Idle + w.Leased; n > 0 || !w.More || w.Next > some[i].After {
				id, moved = some[i].ID, moved+n
			}
			if w.More {
				moved = max(moved, 1) // go on at once, also past jobs that are so already
			}
		}
		return err
	})
	return id, moved, err
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
