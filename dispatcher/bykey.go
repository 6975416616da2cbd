package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// byKey runs a statement whose rows are found by key, planned so, in one round trip.
func byKey[T any](ctx context.Context, d *Dispatcher, verb string, args pgx.StrictNamedArgs) ([]T, error) {
	return byKeyTo(ctx, d, statement{verb, args}, pgx.RowToStructByName[T])
}

// statement is one of this package with its arguments.
type statement struct {
	verb string
	args pgx.StrictNamedArgs
}

// list is the arguments as pgx takes them.
func (st statement) list() []any {
	if st.args == nil {
		return nil
	}
	return []any{st.args}
}

// byKeyTo is byKey with a reader of rows of its own: finding the fields by name costs more than some rows do.
func byKeyTo[T any](ctx context.Context, d *Dispatcher, st statement, row pgx.RowToFunc[T]) (rows []T, err error) {
	var batch pgx.Batch
	batch.Queue(query["by_key"])
	batch.Queue(query[st.verb], pg.Args(st.args))
	results := d.cfg.Pool.SendBatch(ctx, &batch)
	defer func() {
		if err = errors.Join(err, results.Close()); err != nil {
			err = fmt.Errorf("%s: %w", st.verb, err)
		}
	}()
	if _, err = results.Exec(); err != nil {
		return nil, err
	}
	got, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(got, row)
}
