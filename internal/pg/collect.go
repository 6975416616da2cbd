package pg

import (
	"context"
	"fmt"
	"path"

	"github.com/jackc/pgx/v5"
)

// Querier runs queries: a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Collect runs a statement of MustLoad and reads its rows into structs by the names of their columns. An error begins with its file's name.
func Collect[T any](ctx context.Context, db Querier, sql string, args ...any) ([]T, error) {
	return CollectTo(ctx, pgx.RowToStructByName[T], db, sql, args...)
}

// CollectTo is Collect that reads each row as to does.
func CollectTo[T any](ctx context.Context, to pgx.RowToFunc[T], db Querier, sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // its error is that of the rows
	all, err := pgx.CollectRows(rows, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Base(StatementName(sql)), err)
	}
	return all, nil
}

// Row is Collect of the one row that a statement has. Error: pgx.ErrNoRows.
func Row[T any](ctx context.Context, db Querier, sql string, args ...any) (T, error) {
	return RowTo(ctx, pgx.RowToStructByName[T], db, sql, args...)
}

// RowTo is Row that reads the row as to does.
func RowTo[T any](ctx context.Context, to pgx.RowToFunc[T], db Querier, sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // its error is that of the row
	one, err := pgx.CollectExactlyOneRow(rows, to)
	if err != nil {
		return one, fmt.Errorf("%s: %w", path.Base(StatementName(sql)), err)
	}
	return one, nil
}
