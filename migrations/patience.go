package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"

	"github.com/divvyhq/divvy/internal/pg"
)

// A migration that waits for a lock of a table blocks all later users of the table, also daemons of the previous release.
// So it waits no longer than lockTimeout, lets them through for lockPause, and tries again, for lockPatience in all. The first
// is longer than PostgreSQL's deadlock_timeout, after which an autovacuum gives way.
var (
	lockTimeout  = 3 * time.Second
	lockPause    = 5 * time.Second
	lockPatience = 5 * time.Minute
)

// givingWay is a pool to the same database whose statements do not wait for locks for long.
func givingWay(ctx context.Context, db *pgxpool.Pool) (*pgxpool.Pool, error) {
	cfg := db.Config()
	cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, 2
	next := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT set_config('lock_timeout', $1::text, false)", fmt.Sprint(lockTimeout.Milliseconds())); err != nil {
			return err
		}
		if next != nil {
			return next(ctx, conn)
		}
		return nil
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// up applies pending migrations until all are applied, or a lock was held by others for too long.
func up(ctx context.Context, p *goose.Provider) (done []Step, err error) {
	for deadline := time.Now().Add(lockPatience); ; {
		results, err := p.Up(ctx)
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			results = partial.Applied
		}
		for _, r := range results {
			done = append(done, step(r.Source))
		}
		// A deadlock is a lock that was not got either: all of the migration was taken back.
		if code := pg.Code(err); code != pg.CodeLockNotAvailable && code != pg.CodeDeadlock {
			return done, err
		}
		if time.Now().After(deadline) {
			return done, fmt.Errorf("somebody holds a lock of a table ('divvy doctor' says who): %w", err)
		}
		select {
		case <-ctx.Done():
			return done, errors.Join(ctx.Err(), err)
		case <-time.After(lockPause):
		}
	}
}
