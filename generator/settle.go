package generator

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Bounds of one Settle: ledger rows of a lane in one transaction, and transactions while a lane has more.
const (
	settleRows   = 2000
	settleRounds = 20
)

// change is what a stretch of the ledger does to the counts of one task.
type change struct {
	TaskID    int64
	Waiting   int64
	Ready     int64
	Leased    int64
	Finished  int64
	Failed    int64
	Cancelled int64
	Moves     int64
	FirstAt   *time.Time // of the first lease in it, else the last move; nil: now, by the database
	LastAt    *time.Time
	RowsRead  int64 // of the whole stretch, the same in every change
}

// verdict is a task's state before and after its counts changed.
type verdict struct {
	ID     int64
	Before string
	After  string
}

// Settle counts what the ledger says since the last call in the tasks' rows, and moves their states on. Each move
// counts exactly once, whoever calls. It returns the number of moves; 0 also when another daemon is at it.
func (g *Generator) Settle(ctx context.Context) (n int, err error) {
	for range settleRounds {
		moves, more, err := g.settle(ctx)
		if err != nil {
			return n, fmt.Errorf("settle: %w", err)
		}
		n += moves
		if !more {
			break
		}
	}
	return n, nil
}

func (g *Generator) settle(ctx context.Context) (moves int, more bool, err error) {
	var verdicts []verdict
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		moves, more, verdicts = 0, false, nil
		mine, err := pg.TryLock(ctx, tx, pg.LockSettle, 0)
		if err != nil || !mine {
			return err
		}
		rows, err := tx.Query(ctx, query["fold"], pgx.StrictNamedArgs{"rows": settleRows})
		if err != nil {
			return err
		}
		changes, err := pgx.CollectRows(rows, pgx.RowToStructByName[change])
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, c := range changes {
			moves += int(c.Moves)
		}
		more = changes[0].RowsRead >= settleRows
		verdicts, err = count(ctx, tx, changes)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	g.metrics.moves.Add(float64(moves))
	for _, v := range verdicts {
		g.report(v)
	}
	return moves, more, nil
}

// report notes a task that has just ended.
func (g *Generator) report(v verdict) {
	if v.Before != v.After && final(v.After) {
		g.metrics.ended.WithLabelValues(v.After).Inc()
		g.cfg.Log.Info("task ended", "task", v.ID, "state", v.After)
	}
}

// states are those of a task: of the CHECK constraint, in doc.go's order.
var states = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing", "done",
	"finished", "failed", "aborting", "aborted"}

// final states never change, but that finished and failed tasks may be tried again.
func final(state string) bool {
	switch state {
	case "done", "finished", "failed", "aborted":
		return true
	}
	return false
}

// count adds changes to the counts of tasks and judges their states. It locks the rows first, in a statement of
// its own, so that the sums see what others committed meanwhile.
func count(ctx context.Context, tx pgx.Tx, changes []change) ([]verdict, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	var ids, waitings, readies, leaseds, finisheds, faileds, cancelleds []int64
	var firsts, lasts []*time.Time
	for _, c := range changes {
		ids, firsts, lasts = append(ids, c.TaskID), append(firsts, c.FirstAt), append(lasts, c.LastAt)
		waitings, readies, leaseds = append(waitings, c.Waiting), append(readies, c.Ready), append(leaseds, c.Leased)
		finisheds, faileds, cancelleds = append(finisheds, c.Finished), append(faileds, c.Failed), append(cancelleds, c.Cancelled)
	}
	if _, err := tx.Exec(ctx, query["lock_tasks"], pgx.StrictNamedArgs{"tasks": ids}); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, query["count"], pgx.StrictNamedArgs{"tasks": ids, "waitings": waitings, "readies": readies,
		"leaseds": leaseds, "finisheds": finisheds, "faileds": faileds, "cancelleds": cancelleds, "firsts": firsts, "lasts": lasts})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[verdict])
}

// still are changes of nothing, for tasks whose state has to be judged although no job moved.
func still(tasks []int64) []change {
	changes := make([]change, len(tasks))
	for i, id := range tasks {
		changes[i] = change{TaskID: id}
	}
	return changes
}
