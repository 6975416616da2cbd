package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// Extend makes partitions of size ids each until there is room for that many more, and returns how many it made. Without room Enqueue
// fails, so it is called at the start and long before the room is used up. Safe on several daemons at once; what it cannot lock within
// a fifth of a second it leaves for the next time.
func Extend(ctx context.Context, db *pgxpool.Pool, room, size int64) (n int, err error) {
	if room < 1 || size < 1 {
		return 0, fmt.Errorf("extend jobs by %d ids in partitions of %d: both count from 1", room, size)
	}
	err = db.QueryRow(ctx, query["extend_jobs"], pgx.StrictNamedArgs{"room": room, "size": size}).Scan(&n)
	if err != nil && pg.Code(err) != pg.CodeLockNotAvailable {
		return 0, fmt.Errorf("extend jobs: %w", err)
	}
	return n, nil
}

// Live says whether a job with an id from low to high is live as far as the log is folded: package fold knows that by its tables.
type Live func(ctx context.Context, low, high int64) (bool, error)

// partition is ids from low to high, all of which were taken.
type partition struct{ Low, High int64 }

// Retire drops the partitions of jobs and their blocks that were all made before a time and are over, and returns how many. A job
// counts as live while a row of the outbox that was made before that time waits: Live may not know it. What it cannot lock within a
// fifth of a second it leaves for the next time.
func Retire(ctx context.Context, db *pgxpool.Pool, before time.Time, live Live) (n int, err error) {
	old, err := pg.Collect[partition](ctx, db, query["old_partitions"], pgx.StrictNamedArgs{"before": before})
	if err != nil {
		return 0, fmt.Errorf("retire jobs: %w", err)
	}
	for _, p := range old {
		is, err := live(ctx, p.Low, p.High)
		if err == nil && is {
			continue
		}
		if err == nil {
			_, err = db.Exec(ctx, query["drop_jobs"], pgx.StrictNamedArgs{"low": p.Low, "high": p.High})
		}
		if pg.Code(err) == pg.CodeLockNotAvailable {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("retire jobs: %w", err)
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	var failed error // the next time does it
	for _, verb := range []string{"drop_claim_keys", "drop_scaled_away"} {
		_, err := db.Exec(ctx, query[verb])
		failed = errors.Join(failed, err)
	}
	return n, pg.Named("retire jobs", failed)
}
