package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/divvyhq/divvy/internal/pg"
)

// table is where goose notes what it has applied. Releases up to 0.10 had another line of files and goose's own name for it: so
// neither line takes a database of the other for its own.
const table = "migrations"

// FS holds the migration files.
//
//go:embed 0*.sql
var FS embed.FS

// Step is one migration: whether and when it was applied.
type Step struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at,omitempty"` // nil: pending
}

// Up applies all pending migrations and returns those that it applied, on two connections of its own to where the pool
// leads, which must be direct: the lock is a session's. A database that is not UTF-8, whose tables would not be in public, or that a
// release up to 0.10 has made (an OldError), is refused before the first. While it waits for a table it lets others through, see
// patience.go.
func Up(ctx context.Context, db *pgxpool.Pool) ([]Step, error) {
	own, err := givingWay(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("migrate up: %w", err)
	}
	defer own.Close()
	if err := checkHome(ctx, own); err != nil {
		return nil, fmt.Errorf("migrate up: %w", err)
	}
	var done []Step
	err = with(ctx, own, func(p *goose.Provider) (err error) {
		done, err = up(ctx, p)
		return err
	})
	return done, pg.Named("migrate up", err)
}

// Down takes back the newest applied migration, with all data in what it made. ok is false when none is left.
func Down(ctx context.Context, db *pgxpool.Pool) (undone Step, ok bool, err error) {
	err = with(ctx, db, func(p *goose.Provider) error {
		r, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return err
		}
		undone, ok = step(r.Source), true
		return nil
	})
	if err != nil {
		return undone, false, fmt.Errorf("migrate down: %w", err)
	}
	return undone, ok, nil
}

// Status lists all migrations that this binary knows, oldest first. It waits for no migration, and changes nothing.
func Status(ctx context.Context, db *pgxpool.Pool) ([]Step, error) {
	var steps []Step
	err := provided(ctx, db, func(p *goose.Provider) error {
		if ever, err := migrated(ctx, db); err != nil || !ever {
			for _, s := range p.ListSources() {
				steps = append(steps, step(s))
			}
			return err
		}
		all, err := p.Status(ctx)
		for _, s := range all {
			st := step(s.Source)
			if s.State == goose.StateApplied {
				st.AppliedAt = &s.AppliedAt
			}
			steps = append(steps, st)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate status: %w", err)
	}
	return steps, nil
}

// Version is that of the newest migration that was applied, whether this binary knows it or not; 0 where none was. It waits for no
// migration either.
func Version(ctx context.Context, db *pgxpool.Pool) (v int64, err error) {
	err = provided(ctx, db, func(p *goose.Provider) error {
		ever, err := migrated(ctx, db)
		if err == nil && ever {
			v, err = p.GetDBVersion(ctx)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("migrate version: %w", err)
	}
	return v, nil
}

// migrated says whether the table of versions is there: goose makes it when it looks for one.
func migrated(ctx context.Context, db *pgxpool.Pool) (ever bool, err error) {
	err = db.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", table).Scan(&ever)
	return ever, err
}

func step(s *goose.Source) Step {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(s.Path), ".sql"), "_")
	return Step{Version: s.Version, Name: name}
}

// with runs fn with a provider on the pool's connections that changes the schema behind the lock. It tries for that every
// second for five minutes: another daemon may be migrating a large table.
func with(ctx context.Context, db *pgxpool.Pool, fn func(*goose.Provider) error) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(int64(pg.LockMigrate)), lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	return provided(ctx, db, fn, goose.WithSessionLocker(locker))
}

// provided runs fn with a provider that has no lock but by an option: a reader must not wait for a migration, and
// divvy doctor is asked what holds one up. A database of the old line is refused.
func provided(ctx context.Context, db *pgxpool.Pool, fn func(*goose.Provider) error, more ...goose.ProviderOption) error {
	if err := refuseOld(ctx, db); err != nil {
		return err
	}
	conn := stdlib.OpenDBFromPool(db)
	defer conn.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, conn, FS, append(more, goose.WithTableName(table), goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	return fn(p)
}
