package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// byKey runs a statement whose rows are found by key, planned so, in one round trip.
func byKey[T any](ctx context.Context, d *Dispatcher, verb string, args pgx.StrictNamedArgs) (rows []T, err error) {
	var batch pgx.Batch
	batch.Queue(query["by_key"])
	batch.Queue(query[verb], args)
	results := d.cfg.Pool.SendBatch(ctx, &batch)
	defer func() {
		if err = errors.Join(err, results.Close()); err != nil {
			err = fmt.Errorf("%s: %w", verb, err)
		}
	}()
	if _, err = results.Exec(); err != nil {
		return nil, err
	}
	got, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(got, pgx.RowToStructByName[T])
}
