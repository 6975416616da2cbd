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

// ErrRefused says that a request contradicts the present state. Nothing was changed.
var ErrRefused = errors.New("refused")

// say runs a transaction that writes for the log, and returns when its rows are in the log and the machine of this daemon has them.
func (v *Verbs) say(ctx context.Context, do func(tx pgx.Tx) error) error {
	var rows []int64
	err := pg.InTx(ctx, v.d.cfg.Pool, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		var err error
		rows, err = pg.CollectTo(ctx, pgx.RowTo[int64], tx, query["said"])
		return err
	})
	if err != nil {
		return err
	}
	return v.await(ctx, rows)
}

// How long the caller of a verb waits for the leader; and the shortest and the longest pause between looks.
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
	v.d.Written()
	return v.wait(ctx, func(ctx context.Context) (open bool, err error) {
		var refused *string
		if err := v.d.cfg.Pool.QueryRow(ctx, query["awaited"], pg.Args{"rows": rows}).Scan(&open, &refused); err != nil {
			return false, fmt.Errorf("outbox: %w", err)
		}
		if refused != nil {
			return false, fmt.Errorf("%w: %s", ErrRefused, *refused)
		}
		return open, nil
	})
}

// Follow returns when this daemon's machine has all that was committed before the call: the log, and all rows of the
// outbox. It does not wait for refused rows. ErrUnavailable: no daemon leads for long.
func (v *Verbs) Follow(ctx context.Context) error {
	var last int64
	if err := v.d.cfg.Pool.QueryRow(ctx, query["newest_row"]).Scan(&last); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if last > 0 {
		v.d.Written()
	}
	return v.wait(ctx, func(ctx context.Context) (open bool, err error) {
		if last == 0 {
			return false, nil
		}
		err = v.d.cfg.Pool.QueryRow(ctx, query["pending_to"], pg.Args{"row": last}).Scan(&open)
		return open, pg.Named("outbox", err)
	})
}

// wait waits until the log has what is asked for, and then until the machine has what the log has.
func (v *Verbs) wait(ctx context.Context, asked func(ctx context.Context) (open bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, fmt.Errorf("%w: nobody leads", ErrUnavailable))
	defer cancel()
	upto := int64(-1) // the batch that has it, or one after it
	return poll(ctx, func() (bool, error) {
		if upto < 0 {
			open, err := asked(ctx)
			if err == nil && !open {
				upto, _, err = v.d.log.Last(ctx)
			}
			if err != nil {
				return false, cmp.Or(context.Cause(ctx), err)
			}
		}
		return upto >= 0 && v.d.eye.has(ctx, upto), nil
	})
}

// poll asks until it is so, or ctx ends, with pauses that grow.
func poll(ctx context.Context, is func() (bool, error)) error {
	for pause := awaitFirst; ; pause = min(2*pause, awaitEvery) {
		if so, err := is(); so || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
