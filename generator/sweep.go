package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
)

// Bounds of one Sweep: transactions of a kind, and tasks that it tags anew in one transaction.
const (
	sweepRounds = 50
	retagBatch  = 200
	retagRounds = 20
)

// Sweep ends scouting, and splits the pieces of jobs of which a rule says so. It also tags tasks anew that no rule had matched before the
// site changed. It returns how many tasks and jobs that were.
func (g *Generator) Sweep(ctx context.Context) (n int, err error) {
	for _, step := range []func(ctx context.Context, after int64) (id int64, moved int, err error){g.scout, g.halve} {
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
			tag := tags.Again(st, t.Attributes)
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
