package pg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// How often InTx tries, and the bounds of the pause between two tries.
const (
	txTries    = 8
	txPauseMin = 5 * time.Millisecond
	txPauseMax = 250 * time.Millisecond
)

// InTx runs fn in a transaction and commits it. When the transaction collided with another one
// (IsRetryable) it is run again, up to eight times, with a growing random pause that listens to ctx: fn must
// not keep anything from a try that failed. Inside an outer transaction (db is a pgx.Tx) fn runs once, in a
// savepoint: only the outermost caller can start again.
func InTx(ctx context.Context, db Beginner, fn func(pgx.Tx) error) error {
	_, nested := db.(pgx.Tx)
	for try := 1; ; try++ {
		err := runTx(ctx, db, fn)
		if err == nil || nested || try == txTries || !IsRetryable(err) {
			return err
		}
		if pause(ctx, try) != nil {
			return err
		}
	}
}

func runTx(ctx context.Context, db Beginner, fn func(pgx.Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing; after a panic in fn it frees the connection. It must work
	// although ctx may be over.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := fn(tx); err != nil {
		return err
	}
	return Named("commit", tx.Commit(ctx))
}

// pause waits before try+1: half of 5 ms · 2^try, and up to as much again at random.
func pause(ctx context.Context, try int) error {
	d := min(txPauseMin<<try, txPauseMax) / 2
	d += rand.N(d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
