package generator

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/internal/pg"
)

// Bounds of one Settle: steps of the fold in one transaction, and transactions while there are more.
const (
	settleSteps  = 200
	settleRounds = 20
)

// Settle moves the states of tasks on by what the log was folded to since the last call, whoever calls, and tells the log how many jobs are
// still to be made. It returns how many tasks the fold has changed; 0 also when another daemon is at it.
func (g *Generator) Settle(ctx context.Context) (n int, err error) {
	for range settleRounds {
		tasks, more, err := g.settle(ctx)
		if err != nil {
			return n, fmt.Errorf("settle: %w", err)
		}
		n += tasks
		if !more {
			break
		}
	}
	return n, nil
}

func (g *Generator) settle(ctx context.Context) (tasks int, more bool, err error) {
	var verdicts []judge.Verdict
	told := false
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		tasks, more, verdicts, told = 0, false, nil, false
		mine, err := pg.TryLock(ctx, tx, pg.LockSettle, 0)
		if err != nil || !mine {
			return err
		}
		if told, err = g.coming.Correct(ctx, tx, time.Now()); err != nil {
			return err
		}
		var after int64
		if err := tx.QueryRow(ctx, query["settled"]).Scan(&after); err != nil {
			return err
		}
		p, err := fold.Changed(ctx, tx, after, settleSteps)
		if err != nil || p.UpTo == after {
			return err
		}
		if verdicts, err = judgeChanged(ctx, tx, p); err != nil {
			return err
		}
		tasks, more = len(p.Tasks), len(p.Tasks) > 0
		_, err = tx.Exec(ctx, query["settle"], pgx.StrictNamedArgs{"seq": p.UpTo})
		return err
	})
	if err != nil {
		return 0, false, err
	}
	switch {
	case len(verdicts) > 0:
		g.wrote()
	case told:
		g.cfg.Written()
	}
	g.metrics.moves.Add(float64(tasks))
	for _, v := range verdicts {
		g.report(v)
	}
	return tasks, more, nil
}

// judgeChanged moves on the states of tasks that the fold has changed; of all, where it is not known which.
func judgeChanged(ctx context.Context, tx pgx.Tx, p fold.Progress) ([]judge.Verdict, error) {
	sql, args := query["lock_counted"], []any{pgx.StrictNamedArgs{"tasks": p.Tasks}}
	switch {
	case p.Missed:
		sql, args = query["lock_live"], nil
	case len(p.Tasks) == 0:
		return nil, nil
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	return judge.Locked(ctx, tx, ids, false)
}
