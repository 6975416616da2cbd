package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// byDay are the tables that are partitioned by day, and daysAhead how many days after today have their partition.
var byDay = []string{"attempts", "ended_jobs", "decisions", "diaries", "checkpoints", "share_samples"}

const daysAhead = 3

// replayed are those of them that are kept for replays, for as long as the ledger.
var replayed = byDay[2:5]

// Partition makes the partitions of today and the next days, of every table that has one a day, and returns how
// many it made. It never keeps a grant or an end waiting for long: what it cannot lock within a fifth of a second it
// leaves for the next time, and rows go to the default partition until then. A day of which that has rows already stays
// there; the days after it get their own, one at a time, for each of them takes the default partition away from ends
// while it is read. Call it often: what was left out is best made while there is little in the default.
func (d *Dispatcher) Partition(ctx context.Context) (n int, err error) {
	for _, table := range byDay {
		for ahead := range daysAhead + 1 {
			made, err := d.makeDay(ctx, table, ahead)
			n += made
			if pg.Code(err) == pg.CodeLockNotAvailable {
				d.cfg.Log.Debug("partitions are in use; they are made later", "table", table)
				break
			}
			if pg.Code(err) == pg.CodeQueryCanceled && ctx.Err() == nil {
				d.cfg.Log.Warn("the default partition is large: days are not made while reading it takes so long", "table", table)
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
func (d *Dispatcher) makeDay(ctx context.Context, table string, ahead int) (n int, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockDays, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["bound_days"]); err != nil {
			return err
		}
		args := pgx.StrictNamedArgs{"parent": table, "ahead": ahead}
		return tx.QueryRow(ctx, query["make_days"], args).Scan(&n)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// dropDays drops the days of what is kept for replays, and of samples, that are over, and returns how many. Only those
// who write there and their readers meet its lock; while they have a table it is left alone.
func (d *Dispatcher) dropDays(ctx context.Context) (n int, err error) {
	keep := map[string]time.Duration{"share_samples": d.cfg.KeepSamples}
	for _, table := range replayed {
		keep[table] = d.cfg.Keep
	}
	for table, keep := range keep {
		days, dropped := int((keep+day-1)/day), 0
		err = d.cfg.Pool.QueryRow(ctx, query["drop_days"], pgx.StrictNamedArgs{"parent": table, "keep": days}).Scan(&dropped)
		if err != nil && pg.Code(err) != pg.CodeLockNotAvailable {
			return n, fmt.Errorf("drop_days: %w", err)
		}
		n += dropped
	}
	return n, nil
}

const day = 24 * time.Hour
