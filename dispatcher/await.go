package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// ErrRefused says that what was asked for contradicts what is so by now. Nothing was changed.
var ErrRefused = errors.New("refused")

// say runs a transaction that writes for the log, and returns when its rows are in the log and the machine of this daemon has them.
func (v *Verbs) say(ctx context.Context, do func(tx pgx.Tx) error) error {
	var rows []int64
	err := pg.InTx(ctx, v.db, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		found, err := tx.Query(ctx, query["said"])
		if err == nil {
			rows, err = pgx.CollectRows(found, pgx.RowTo[int64])
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.await(ctx, rows)
}

// How long the caller of a verb waits for the leader, and how often it looks.
const (
	awaitMost  = 20 * time.Second
	awaitFirst = 2 * time.Millisecond
	awaitEvery = 100 * time.Millisecond
)

// await waits until rows of the outbox are in the log and this daemon's machine has them. An error that is ErrRefused says that one of them is
// not, and never will be; of ErrUnavailable it is unknown, and it may still come.
func (v *Verbs) await(ctx context.Context, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	v.written()
	return v.wait(ctx, func(ctx context.Context) (open bool, err error) {
		var refused *string
		if err := v.db.QueryRow(ctx, query["awaited"], pg.Args{"rows": rows}).Scan(&open, &refused); err != nil {
			return false, fmt.Errorf("outbox: %w", err)
		}
		if refused != nil {
			return false, fmt.Errorf("%w: %s", ErrRefused, *refused)
		}
		return open, nil
	})
}

// Follow returns when the machine of this daemon has all that was committed before the call: the log, and rows of the outbox, whoever wrote
// them. Rows that are refused are not waited for. ErrUnavailable: nobody leads for long.
func (v *Verbs) Follow(ctx context.Context) error {
	var last int64
	if err := v.db.QueryRow(ctx, query["newest_row"]).Scan(&last); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if last > 0 {
		v.written()
	}
	return v.wait(ctx, func(ctx context.Context) (open bool, err error) {
		if last == 0 {
			return false, nil
		}
		if err := v.db.QueryRow(ctx, query["pending_to"], pg.Args{"row": last}).Scan(&open); err != nil {
			return false, fmt.Errorf("outbox: %w", err)
		}
		return open, nil
	})
}

// wait waits until the log has what is asked for, and then until the machine has what the log has.
func (v *Verbs) wait(ctx context.Context, asked func(ctx context.Context) (open bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, fmt.Errorf("%w: nobody leads", ErrUnavailable))
	defer cancel()
	upto := int64(-1) // the batch that has it, or one after it
	for pause := awaitFirst; ; pause = min(2*pause, awaitEvery) {
		if upto < 0 {
			open, err := asked(ctx)
			if err == nil && !open {
				upto, _, err = v.log.Last(ctx)
			}
			if err != nil {
				return cmp.Or(context.Cause(ctx), err)
			}
		}
		if upto >= 0 && v.eye.has(ctx, upto) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
