package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of one MoveAhead: tasks of a batch, and how long it goes on.
const (
	aheadTasks = 100
	aheadFor   = 10 * time.Second
)

// MoveAhead gives live tasks of one share, with their jobs, to another leaf in force: what MoveShare does, in batches of their own
// transactions, before the site file that asks for it is applied. Between them it waits as long as each took, so that grants
// go on. It stops after some seconds and says whether there is more. Jobs that the share has of tasks of other shares are left to MoveShare, as is
// what comes to the share meanwhile.
func (g *Generator) MoveAhead(ctx context.Context, from, to shares.ShareID) (left bool, err error) {
	for began := time.Now(); ; {
		batch := time.Now()
		more, err := g.aheadBatch(ctx, from, to)
		switch took := time.Since(batch); {
		case errors.Is(err, ErrSiteChanged):
			return true, nil // whoever asked looks again
		case err != nil || !more:
			return false, err
		case time.Since(began) > aheadFor:
			return true, nil
		default:
			select {
			case <-ctx.Done():
				return true, ctx.Err()
			case <-time.After(took):
			}
		}
	}
}

// aheadBatch moves some tasks of the share with their jobs. more: there may be others.
func (g *Generator) aheadBatch(ctx context.Context, from, to shares.ShareID) (more bool, err error) {
	err = g.write(ctx, func(tx pgx.Tx) error {
		st, err := g.siteInForce(ctx, tx)
		if err != nil {
			return err
		}
		if !isLeaf(st, to) {
			return ErrSiteChanged
		}
		if err := steady(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, query["lock_ahead"], pgx.StrictNamedArgs{"share": int32(from), "limit": aheadTasks})
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if more = len(tasks) == aheadTasks; err != nil {
			return err
		}
		for _, id := range tasks {
			if err := intake.MoveTask(ctx, tx, intake.TaskMove{Task: id, From: from, To: to, Running: true}); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, query["move_share"], pgx.StrictNamedArgs{"from": int32(from), "to": int32(to), "task": id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("move ahead: %w", err)
	}
	return more, nil
}

func isLeaf(st *site.Site, id shares.ShareID) bool {
	return slices.ContainsFunc(st.Tree.Leaves(), func(i int) bool { return st.Tree.Nodes[i].ID == id })
}

// MoveShare gives the tasks of one share that are not over to another, as part of applying a site file. It has to
// come before intake.MoveShare: from here on no generator makes jobs for the old share, and those that were
// at it have committed theirs.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	if _, err := tx.Exec(ctx, query["move_share"], pgx.StrictNamedArgs{"from": int32(from), "to": int32(to), "task": int64(0)}); err != nil {
		return fmt.Errorf("move tasks: %w", err)
	}
	return nil
}
