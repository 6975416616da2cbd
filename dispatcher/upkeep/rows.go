package upkeep

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// mostRows of a table go in a step: of each more than seven million a day.
const mostRows = 5000

// keepEnds is for how long attempts that ended are counted by the hour and kind.
const keepEnds = 8 * day

const day = 24 * time.Hour

// rowTable is a table whose rows go one by one, by a time at which an index begins.
type rowTable struct {
	name, key string
	keep      time.Duration // 0: for ever
}

// rowTables lists them. A row of a day is over when the day is.
func rowTables(k Keep) []rowTable {
	days := k.Days
	if days > 0 {
		days += day
	}
	return []rowTable{
		{"end_counts", "hour", keepEnds}, {"hour_usage", "hour", k.Hours}, {"fairness_hours", "hour", k.Hours}, {"wait_hours", "hour", k.Hours}, {"user_wait_hours", "hour", k.Hours},
		{"day_usage", "day", days}, {"task_usage", "day", days}, {"node_usage", "day", days},
	}
}

// oldRows deletes rows that are old.
type oldRows struct {
	db     *pgxpool.Pool
	tables []rowTable
}

func (s oldRows) run(ctx context.Context) (n int, err error) {
	for _, t := range s.tables {
		if t.keep == 0 {
			continue
		}
		went, err := s.drop(ctx, t)
		n += went
		if err != nil {
			return n, fmt.Errorf("old rows of %s: %w", t.name, err)
		}
	}
	return n, nil
}

// drop deletes some rows of a table, unless another daemon is at it.
func (s oldRows) drop(ctx context.Context, t rowTable) (n int, err error) {
	err = pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockPurge, 0); err != nil || !ok {
			return err
		}
		return tx.QueryRow(ctx, query["drop_rows"], pg.Args{"name": t.name, "key": t.key, "keep_s": t.keep.Seconds(), "most": mostRows}).Scan(&n)
	})
	return n, err
}

// oldDaemons deletes daemons that are closed.
type oldDaemons struct{ db *pgxpool.Pool }

func (s oldDaemons) run(ctx context.Context) (int, error) {
	tag, err := s.db.Exec(ctx, query["drop_daemons"])
	if err != nil {
		return 0, fmt.Errorf("old daemons: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// oldReports deletes reports of attempts that run no more, a piece of the table at a time.
type oldReports struct {
	db    *pgxpool.Pool
	after atomic.Int64
}

func (s *oldReports) run(ctx context.Context) (n int, err error) {
	var after int64
	if err := s.db.QueryRow(ctx, query["drop_reports"], pg.Args{"after": s.after.Load(), "n": mostRows}).Scan(&after, &n); err != nil {
		return 0, fmt.Errorf("old reports: %w", err)
	}
	s.after.Store(after)
	return n, nil
}

// keepRefused is for how long people can look at what the log did not take, and why.
const keepRefused = 30 * day

// oldRefusals deletes rows of the outbox that were refused.
type oldRefusals struct{ db *pgxpool.Pool }

func (s oldRefusals) run(ctx context.Context) (int, error) {
	tag, err := s.db.Exec(ctx, query["drop_refused"], pg.Args{"keep_s": keepRefused.Seconds(), "most": mostRows})
	if err != nil {
		return 0, fmt.Errorf("old refusals: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
