package dispatcher

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// byDay are the tables that are partitioned by day, and daysAhead how many days after today have their partition.
var byDay = []string{"attempts", "ended_jobs", "decisions", "diaries", "checkpoints", "share_samples", "payload_logs"}

const daysAhead = 3

// replayed are those of them that are kept for replays, for as long as the ledger.
var replayed = byDay[2:5]

// ofHistory are those that Config.KeepHistory is about.
var ofHistory = []string{"attempts", "ended_jobs", "payload_logs"}

// Partition makes the partitions of today and the next days, of every table that has one a day, and returns how
// many it made. It never keeps a grant or an end waiting for long: what it cannot lock within a fifth of a second it
// leaves for the next time, and rows go to the default partition until then. A day of which that has rows already stays
// there (until MoveStrays); the days after it get their own, one at a time, for each of them takes the default partition away from ends
// while it is read. Call it often: what was left out is best made while there is little in the default.
func (d *Dispatcher) Partition(ctx context.Context) (n int, err error) {
	return MakeDays(ctx, d.cfg.Pool, d.cfg.Log, nil)
}

// MakeDays is Partition without a daemon.
func MakeDays(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, note Note) (n int, err error) {
	for _, table := range byDay {
		for ahead := range daysAhead + 1 {
			made, err := makeDay(ctx, db, pgx.StrictNamedArgs{"parent": table, "ahead": ahead}, note)
			n += made
			if pg.Code(err) == pg.CodeLockNotAvailable {
				log.Debug("partitions are in use; they are made later", "table", table)
				break
			}
			if pg.Code(err) == pg.CodeQueryCanceled && ctx.Err() == nil {
				log.Warn("the default partition is large: days are not made while reading it takes so long", "table", table)
				break
			}
			if err != nil {
				return n, fmt.Errorf("partitions of %s: %w", table, err)
			}
		}
	}
	return n, nil
}

// makeDay makes one partition, in a transaction of its own so that locks are held briefly.
func makeDay(ctx context.Context, db *pgxpool.Pool, args pgx.StrictNamedArgs, note Note) (n int, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockDays, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["bound_days"]); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, query["make_days"], args).Scan(&n); err != nil || n == 0 {
			return err
		}
		return note.tell(ctx, tx, "partition of %s made for %v days after today", args["parent"], args["ahead"])
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// dropDays drops the days that are over of what is kept for a time, and returns how many: one in a transaction, so that
// nobody waits for more than one. It waits for a fifth of a second for those who have the table, and leaves it to the next
// time; ends wait behind it for as long. Days of attempts that Account has not added yet stay (divvy_drop_days). What lies in a default partition goes row by row, see Purge.
func (d *Dispatcher) dropDays(ctx context.Context) (n int, err error) {
	for _, table := range byDay {
		keep := d.keepDays(table)
		if keep == 0 {
			continue
		}
		args := pgx.StrictNamedArgs{"parent": table, "keep": keep}
		for dropped := 1; dropped > 0; n += dropped {
			dropped = 0
			err := d.cfg.Pool.QueryRow(ctx, query["drop_day"], args).Scan(&dropped)
			if pg.Code(err) == pg.CodeLockNotAvailable {
				break
			}
			if err != nil {
				return n, fmt.Errorf("drop_day: %w", err)
			}
		}
	}
	return n, nil
}

// keepDays is for how many days after it has ended a day of a table is kept; 0: for ever.
func (d *Dispatcher) keepDays(table string) int { return d.cfg.keepDays(table) }

func (c Config) keepDays(table string) int {
	keep := c.KeepSamples
	switch {
	case slices.Contains(ofHistory, table):
		keep = c.KeepHistory
	case slices.Contains(replayed, table):
		keep = c.Keep
	}
	return wholeDays(keep)
}

// DayTable is a table that has a partition a day.
type DayTable struct {
	Name  string
	Ahead int // how many days after today have one
	Keep  int // days that one is kept after it has ended; 0: for ever
}

// DayTables lists them, with how long c keeps them.
func DayTables(c Config) []DayTable {
	list := make([]DayTable, len(byDay))
	for i, name := range byDay {
		list[i] = DayTable{Name: name, Ahead: daysAhead, Keep: c.keepDays(name)}
	}
	return list
}

// wholeDays rounds up.
func wholeDays(keep time.Duration) int { return int((keep + day - 1) / day) }

const day = 24 * time.Hour
