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
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, fmt.Errorf("%w: nobody leads", ErrUnavailable))
	defer cancel()
	upto := int64(-1) // the batch that has the rows, or one after it
	for pause := awaitFirst; ; pause = min(2*pause, awaitEvery) {
		if upto < 0 {
			var open int
			var refused *string
			if err := v.db.QueryRow(ctx, query["awaited"], pg.Args{"rows": rows}).Scan(&open, &refused); err != nil {
				return fmt.Errorf("outbox: %w", err)
			}
			switch {
			case refused != nil:
				return fmt.Errorf("%w: %s", ErrRefused, *refused)
			case open == 0:
				var err error
				if upto, _, err = v.log.Last(ctx); err != nil {
					return err
				}
			}
		}
		if upto >= 0 && v.eye.seq.Load() >= upto {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Follow waits until the log has all that is in the outbox now, and this daemon's machine has it too. ErrUnavailable: nobody leads.
func (v *Verbs) Follow(ctx context.Context) error {
	v.written()
	var last int64
	if err := v.db.QueryRow(ctx, query["written"]).Scan(&last); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, fmt.Errorf("%w: nobody leads", ErrUnavailable))
	defer cancel()
	open := true
	for pause := awaitFirst; open; pause = min(2*pause, awaitEvery) {
		if err := v.db.QueryRow(ctx, query["left"], pg.Args{"upto": last}).Scan(&open); err != nil {
			return cmp.Or(context.Cause(ctx), fmt.Errorf("outbox: %w", err))
		}
		if open && !rest(ctx, pause) {
			return context.Cause(ctx)
		}
	}
	upto, _, err := v.log.Last(ctx)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for pause := awaitFirst; v.eye.seq.Load() < upto; pause = min(2*pause, awaitEvery) {
		if !rest(ctx, pause) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// rest waits; false: not for so long, as ctx is done.
func rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}
