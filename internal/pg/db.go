package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB runs statements: a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx.
type DB interface {
	Beginner
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Partitions runs a statement that makes or drops partitions, and returns how many; none where somebody has their table in a way that forbids
// it: that is left for the next time.
func Partitions(ctx context.Context, db DB, sql string, args Args) (n int, err error) {
	err = db.QueryRow(ctx, sql, args).Scan(&n)
	if Code(err) == CodeLockNotAvailable {
		return 0, nil
	}
	return n, err
}
