package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// byDay are the tables that are partitioned by day, daysAhead how many days after today have their partition, and
// decisionDays how long decision records are kept.
var byDay = []string{"attempts", "ended_jobs", "decisions"}

const (
	daysAhead    = 3
	decisionDays = 7
)

// Partition makes the partitions of today and the next days, of every table that has one a day, and returns how
// many it made. It never keeps a claim or an end waiting: what it cannot lock within a fifth of a second it leaves
// for the next time, and rows go to the default partition until then. A day of which that has rows already stays
// there; the days after it get their own.
func (d *Dispatcher) Partition(ctx context.Context) (n int, err error) {
	for _, table := range byDay {
		made, err := d.makeDays(ctx, table)
		switch {
		case pg.Code(err) == pg.CodeLockNotAvailable:
			d.cfg.Log.Debug("partitions are in use; they are made later", "table", table)
		case err != nil:
			return n, fmt.Errorf("partitions of %s: %w", table, err)
		}
		n += made
	}
	return n, nil
}

// makeDays does one table, in a transaction of its own so that locks are held briefly.
func (d *Dispatcher) makeDays(ctx context.Context, table string) (n int, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockDays, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["bound_days"]); err != nil {
			return err
		}
		args := pgx.StrictNamedArgs{"parent": table, "days": daysAhead + 1}
		return tx.QueryRow(ctx, query["make_days"], args).Scan(&n)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// dropDecisions drops the days of decision records that are over, and returns how many. Only the one who writes
// the records and their readers meet its lock; while they have the table it does nothing.
func (d *Dispatcher) dropDecisions(ctx context.Context) (n int, err error) {
	args := pgx.StrictNamedArgs{"parent": "decisions", "keep": decisionDays}
	err = d.cfg.Pool.QueryRow(ctx, query["drop_days"], args).Scan(&n)
	if err != nil && pg.Code(err) != pg.CodeLockNotAvailable {
		return 0, fmt.Errorf("drop_days: %w", err)
	}
	return n, nil
}
