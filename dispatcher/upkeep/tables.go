package upkeep

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// DayTable is a table that has a partition a day, TABLE_YYYYMMDD.
type DayTable struct {
	Name  string
	Ahead int           // how many days after today have one
	Keep  time.Duration // for which one is kept after it has ended; 0: for ever

	folded bool // Config.History drops its days
}

const ahead = 3

// DayTables lists them.
func DayTables(k Keep) []DayTable {
	return []DayTable{{"history", ahead, k.History, true}, {"attempt_texts", ahead, k.History, true}, {"payload_logs", ahead, k.History, false}, {"share_samples", ahead, k.Samples, false}}
}

// daysAhead makes the partitions of today and the next days.
func (cfg Config) daysAhead(ctx context.Context) (n int, err error) {
	for _, t := range DayTables(cfg.Keep) {
		for day := range t.Ahead + 1 {
			made, err := pg.Partitions(ctx, cfg.DB, query["make_day"], pg.Args{"parent": t.Name, "ahead": day})
			if n += made; err != nil {
				return n, fmt.Errorf("days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}

// oldDays drops days that ended long ago.
func (cfg Config) oldDays(ctx context.Context) (n int, err error) {
	for _, t := range DayTables(cfg.Keep) {
		for dropped := 1; dropped > 0 && t.Keep > 0 && !t.folded; n += dropped {
			if dropped, err = pg.Partitions(ctx, cfg.DB, query["drop_day"], pg.Args{"parent": t.Name, "keep_s": t.Keep.Seconds()}); err != nil {
				return n, fmt.Errorf("old days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}

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

func (cfg Config) oldRows(ctx context.Context) (n int, err error) {
	for _, t := range rowTables(cfg.Keep) {
		if t.keep == 0 {
			continue
		}
		went, err := cfg.dropRows(ctx, t)
		if n += went; err != nil {
			return n, fmt.Errorf("old rows of %s: %w", t.name, err)
		}
	}
	return n, nil
}

// dropRows deletes some rows of a table, unless another daemon is at it.
func (cfg Config) dropRows(ctx context.Context, t rowTable) (n int, err error) {
	err = pg.InTx(ctx, cfg.DB, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockPurge, 0); err != nil || !ok {
			return err
		}
		return tx.QueryRow(ctx, query["drop_rows"], pg.Args{"name": t.name, "key": t.key, "keep_s": t.keep.Seconds(), "most": mostRows}).Scan(&n)
	})
	return n, err
}

// oldReports returns what deletes reports of attempts that run no more, a piece of the table at a time.
func (cfg Config) oldReports() func(ctx context.Context) (int, error) {
	var from atomic.Int64
	return func(ctx context.Context) (n int, err error) {
		var after int64
		if err := cfg.DB.QueryRow(ctx, query["drop_reports"], pg.Args{"after": from.Load(), "n": mostRows}).Scan(&after, &n); err != nil {
			return 0, fmt.Errorf("old reports: %w", err)
		}
		from.Store(after)
		return n, nil
	}
}

// keepRefused is for how long people can look at what the log did not take, and why.
const keepRefused = 30 * day

// oldRefusals deletes rows of the outbox that were refused.
func (cfg Config) oldRefusals(ctx context.Context) (int, error) {
	tag, err := cfg.DB.Exec(ctx, query["drop_refused"], pg.Args{"keep_s": keepRefused.Seconds(), "most": mostRows})
	return int(tag.RowsAffected()), pg.Named("old refusals", err)
}

// oldDaemons deletes daemons that are closed.
func (cfg Config) oldDaemons(ctx context.Context) (int, error) {
	tag, err := cfg.DB.Exec(ctx, query["drop_daemons"])
	return int(tag.RowsAffected()), pg.Named("old daemons", err)
}
