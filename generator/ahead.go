package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of one MoveAhead: tasks and jobs of a batch, behind which grants stand still while it moves, and how long it goes on.
const (
	aheadTasks = 100
	aheadJobs  = 2000
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

// aheadTask is a task under its row lock that is to go.
type aheadTask struct {
	ID   int64
	from int64 // the first of its jobs that have to go; 0: none has
}

// aheadBatch moves some tasks of the share, or a part of the jobs of one: the task itself goes with the last of them. more: some
// were left to look at.
func (g *Generator) aheadBatch(ctx context.Context, from, to shares.ShareID) (more bool, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		st, err := g.siteInForce(ctx, tx)
		if err != nil {
			return err
		}
		if !isLeaf(st, to) {
			return ErrSiteChanged
		}
		tasks, err := lockAhead(ctx, tx, from)
		if more = len(tasks) > 0; err != nil || !more {
			return err
		}
		for i := range tasks { // before grants stand still: it may be far behind jobs that went
			args := pgx.StrictNamedArgs{"task": tasks[i].ID, "from": int64(0), "share": int32(to), "only": int32(from), "running": true}
			if err := tx.QueryRow(ctx, query["movable"], args).Scan(&tasks[i].from); err != nil {
				return err
			}
		}
		if err := intake.Barrier(ctx, tx); err != nil {
			return err
		}
		if err := moveTasks(ctx, tx, tasks, from, to); err != nil {
			return err
		}
		return dispatcher.Rebase(ctx, tx, st.Version())
	})
	if err != nil {
		return false, fmt.Errorf("move ahead: %w", err)
	}
	return more, nil
}

// moveTasks moves the jobs of tasks, up to a batch of them, and the tasks none of whose jobs are left.
func moveTasks(ctx context.Context, tx pgx.Tx, tasks []aheadTask, from, to shares.ShareID) error {
	room := aheadJobs
	for _, t := range tasks {
		if t.from > 0 {
			if err := intake.MoveTask(ctx, tx, intake.TaskMove{Task: t.ID, From: from, To: to, Running: true}); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, query["move_share"], pgx.StrictNamedArgs{"from": int32(from), "to": int32(to), "task": t.ID}); err != nil {
			return err
		}
		if room <= 0 {
			return nil
		}
	}
	return nil
}

// lockAhead locks live tasks of a share whose jobs make one batch, or one task.
func lockAhead(ctx context.Context, tx pgx.Tx, from shares.ShareID) ([]aheadTask, error) {
	rows, err := tx.Query(ctx, query["lock_ahead"], pgx.StrictNamedArgs{"share": int32(from), "limit": aheadTasks, "jobs": aheadJobs})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t aheadTask, err error) {
		return t, row.Scan(&t.ID)
	})
}

func isLeaf(st *site.Site, id shares.ShareID) bool {
	return slices.ContainsFunc(st.Tree.Leaves(), func(i int) bool { return st.Tree.Nodes[i].ID == id })
}
