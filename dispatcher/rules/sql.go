package rules

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

type args = pgx.StrictNamedArgs

func load() map[string]string { return pg.MustLoad(sqlFiles) }

// querier runs queries: a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect runs a query and returns its rows.
func collect[T any](ctx context.Context, db querier, verb string, a args) ([]T, error) {
	var all []any
	if a != nil {
		all = append(all, a)
	}
	rows, err := db.Query(ctx, query[verb], all...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return list, nil
}

// exec runs a statement.
func exec(ctx context.Context, tx pgx.Tx, verb string, a args) error {
	if _, err := tx.Exec(ctx, query[verb], a); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// column is one value of each of a list.
func column[T, V any](list []T, value func(T) V) []V {
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = value(v)
	}
	return out
}
