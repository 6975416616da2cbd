package migrations_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db, err := pg.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func run(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// applied counts the migrations that the database has and that this binary knows.
func applied(t *testing.T, db *pgxpool.Pool) (n, known int) {
	t.Helper()
	steps, err := migrations.Status(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		if s.Version != int64(i+1) || s.Name == "" {
			t.Errorf("step %d is %d %q: numbers have no gap, and every file a name", i, s.Version, s.Name)
		}
		if s.AppliedAt != nil {
			n++
		}
	}
	return n, len(steps)
}

func TestUpDownUp(t *testing.T) {
	db := open(t, pgtest.Empty(t))
	if n, _ := applied(t, db); n != 0 {
		t.Fatalf("%d migrations applied to an empty database", n)
	}
	done, err := migrations.Up(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	n, known := applied(t, db)
	files, _ := fs.Glob(migrations.FS, "*.sql")
	if n != known || len(done) != known || len(files) != known {
		t.Fatalf("%d of %d applied, %d reported, %d files", n, known, len(done), len(files))
	}
	if again, err := migrations.Up(t.Context(), db); err != nil || len(again) != 0 {
		t.Fatalf("second Up: %v, %v; want nothing to do", again, err)
	}
	for _, row := range []string{ // a Down is not stopped by what has been written
		`INSERT INTO tokens (name, prefix, hash, role, user_name, queues, share, created_by) VALUES
			('p', 'divvy_0000000001', sha256('p'), 'pilot', NULL, '{CERN}', NULL, 'me'), ('s', 'divvy_0000000002', sha256('s'), 'submitter', 'ann', '{}', NULL, 'me')`,
		`INSERT INTO audit (who, role, subject, token_id, what, object, before, after) VALUES ('p', 'pilot', 'queues CERN', 1, 'token.create', 'p', '', 'x'), ('f', 'admin', '', NULL, 'a.b', '', '', '')`,
	} {
		run(t, db, row)
	}
	for left := known; left > 0; left-- {
		step, ok, err := migrations.Down(t.Context(), db)
		if err != nil || !ok || step.Version != int64(left) {
			t.Fatalf("Down: %v, %v, %v; want %d undone", step, ok, err, left)
		}
	}
	if _, ok, err := migrations.Down(t.Context(), db); ok || err != nil {
		t.Fatalf("Down of nothing: %v, %v", ok, err)
	}
	var rest []string
	if err := db.QueryRow(t.Context(), `SELECT coalesce(array_agg(name ORDER BY name), '{}') FROM (
			SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace::regnamespace::text IN ('public', 'report') AND c.relkind IN ('r', 'p', 'v', 'S')
			UNION ALL SELECT p.oid::regproc::text FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('public', 'report')
		) AS left_over (name) WHERE name !~ '^migrations'`).Scan(&rest); err != nil || len(rest) > 0 {
		t.Fatalf("left after all Downs: %q, %v", rest, err)
	}
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

func TestUpAtOnce(t *testing.T) {
	dsn := pgtest.Empty(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 4 {
		db := open(t, dsn)
		all.Go(func() {
			done, err := migrations.Up(t.Context(), db)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += len(done)
		})
	}
	all.Wait()
	if _, known := applied(t, open(t, dsn)); total != known {
		t.Errorf("%d migrations reported by four daemons together, want %d", total, known)
	}
}

// A daemon that is one version older than the database starts all the same.
func TestUpOnANewerDatabase(t *testing.T) {
	db := pgtest.Open(t)
	run(t, db, "INSERT INTO migrations (version_id, is_applied) VALUES (9999, true)")
	if done, err := migrations.Up(t.Context(), db); err != nil || len(done) != 0 {
		t.Fatalf("%v, %v; want nothing done", done, err)
	}
}

// Who only looks does not wait for a daemon that migrates a large table.
func TestStatusDuringAMigration(t *testing.T) {
	db := pgtest.Open(t)
	migrating, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer migrating.Rollback(context.Background())
	if _, err := migrating.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1::bigint)", pg.LockMigrate); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	steps, err := migrations.Status(ctx, db)
	if err != nil || len(steps) == 0 || steps[len(steps)-1].AppliedAt == nil {
		t.Errorf("%d steps, %v", len(steps), err)
	}
	if v, err := migrations.Version(ctx, db); err != nil || v != steps[len(steps)-1].Version {
		t.Errorf("version %d, %v", v, err)
	}
}

// On a server of its own, since roles belong to the whole server.
func TestUpWithoutTheRightToCreateRoles(t *testing.T) {
	c, err := pg.StartCluster(t.Context(), pg.ClusterConfig{Ephemeral: true, NoFsync: true, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, pg.ErrNoBinaries) {
		t.Skip("SKIPPED: needs a server of its own:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	admin := open(t, c.DSN())
	run(t, admin, "CREATE ROLE plain LOGIN")
	run(t, admin, "GRANT ALL ON DATABASE divvy TO plain")
	run(t, admin, "GRANT ALL ON SCHEMA public TO plain")
	cfg := admin.Config().ConnConfig
	db := open(t, "host="+cfg.Host+" user=plain dbname=divvy sslmode=disable")
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	run(t, db, "SELECT FROM report.shares_now")
	const report = 11 // the step that grants to the role
	for undone := int64(0); undone != report; {
		step, ok, err := migrations.Down(t.Context(), db)
		if err != nil || !ok {
			t.Fatal(step, ok, err)
		}
		undone = step.Version
	}
	// An administrator has made the role meanwhile.
	run(t, admin, "CREATE ROLE divvy_reader NOLOGIN")
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	run(t, admin, "SET ROLE divvy_reader; SELECT FROM report.shares_now; RESET ROLE")
}
