package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// checkpointLock is the id of the lock of Checkpoint in the class of those who write samples.
const checkpointLock = 1

// Checkpoint keeps a copy of the counters with their positions in the ledger, if the last one is a minute old, and
// returns how many it made: 0 or 1. From it and the ledger any later moment can be counted again. A large one is
// made less often, so that all of them together stay at ten thousand rows a minute. One daemon does it; the others
// find the lock taken.
func (d *Dispatcher) Checkpoint(ctx context.Context) (n int, err error) {
	err = d.onDay(ctx, func() error {
		return pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
			n = 0
			if ok, err := pg.TryLock(ctx, tx, pg.LockSample, checkpointLock); err != nil || !ok {
				return err
			}
			tag, err := tx.Exec(ctx, query["checkpoint"])
			n = int(tag.RowsAffected())
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	return n, nil
}
