package meter

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Lock is who has and who waits for advisory locks of a class.
type Lock struct {
	Class   int64
	Held    int64
	Waiting int64
	Longest float64 `db:"longest_s"` // seconds that the first has waited
}

// Locks looks at the advisory locks of the database. They are the same for all daemons: one looks.
func Locks(ctx context.Context, db *pgxpool.Pool) ([]Lock, error) {
	locks, err := pg.Collect[Lock](ctx, db, query["lock_waits"])
	if err != nil {
		return nil, fmt.Errorf("locks: %w", err)
	}
	return locks, nil
}

// byName puts the locks of others together, which are not told apart. Ours have lines while nobody holds them too.
func byName(locks []Lock) map[string]Lock {
	by := map[string]Lock{}
	for _, name := range pg.LockNames() {
		by[name] = Lock{}
	}
	for _, l := range locks {
		name := pg.LockName(int32(l.Class))
		sum := by[name]
		by[name] = Lock{Held: sum.Held + l.Held, Waiting: sum.Waiting + l.Waiting, Longest: max(sum.Longest, l.Longest)}
	}
	return by
}
