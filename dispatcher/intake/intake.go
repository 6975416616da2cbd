package intake

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Barrier has the caller's transaction wait until no other one makes or places jobs, and keeps these away until it ends: whoever
// changes shares and their plans begins with it, so that no job stays behind in a share that is gone, or at a place of another plan.
func Barrier(ctx context.Context, tx pgx.Tx) error { return pg.Lock(ctx, tx, pg.LockGrants, 0) }

// steady keeps Barrier away until the transaction ends: plans of shares that are read after it stay as they are.
func steady(ctx context.Context, tx pgx.Tx) error { return pg.LockShared(ctx, tx, pg.LockGrants, 0) }

func list[R, V any](rows []R, field func(R) V) []V {
	values := make([]V, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}
