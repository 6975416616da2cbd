package intake

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// DB runs statements and transactions: a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Begin(ctx context.Context) (pgx.Tx, error)
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Barrier has the caller's transaction wait until no other one makes or places jobs, and keeps these away until it ends: whoever
// changes shares and their plans begins with it, so that no job stays behind in a share that is gone, or at a place of another plan.
func Barrier(ctx context.Context, tx pgx.Tx) error { return pg.Lock(ctx, tx, pg.LockGrants, 0) }

// steady keeps Barrier away until the transaction ends: plans of shares that are read after it stay as they are.
func steady(ctx context.Context, tx pgx.Tx) error { return pg.LockShared(ctx, tx, pg.LockGrants, 0) }

// collect reads rows into structs by the names of their columns.
func collect[T any](ctx context.Context, db interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, verb string, args pgx.StrictNamedArgs) ([]T, error) {
	rows, err := db.Query(ctx, query[verb], args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// column reads rows of one column.
func column[T any](ctx context.Context, tx pgx.Tx, verb string, args pgx.StrictNamedArgs) ([]T, error) {
	rows, err := tx.Query(ctx, query[verb], args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// list is a field of all rows.
func list[R, V any](rows []R, field func(R) V) []V {
	values := make([]V, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}
