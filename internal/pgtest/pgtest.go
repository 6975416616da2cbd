package pgtest

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// patience bounds each thing that the package does with the server.
const patience = 3 * time.Minute

// Main runs the tests of a package, stops the server that they used, and exits: the whole of a TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main without the exit, for a TestMain that has more to do.
func Run(m *testing.M) int {
	instance.main = true
	drawLess()
	code := m.Run()
	instance.stop()
	return code
}

// DSN makes a migrated database for this test and returns how to reach it. It is dropped some tests
// later, with force.
func DSN(t testing.TB) string {
	t.Helper()
	return database(t, (*server).clone)
}

// Empty is DSN without migrations.
func Empty(t testing.TB) string {
	t.Helper()
	return database(t, (*server).create)
}

// Dump is Empty with what a dump in a gzip file makes, as pg_dump --inserts writes it.
func Dump(t testing.TB, file string) string {
	t.Helper()
	dsn := Empty(t)
	if err := restore(dsn, file); err != nil {
		t.Fatalf("pgtest: %s: %v", file, err)
	}
	return dsn
}

func restore(dsn, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	sql, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn) // of its own: a dump changes the settings of its session
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, string(sql)).ReadAll()
	return err
}

func database(t testing.TB, create func(*server) (string, error)) string {
	t.Helper()
	s := need(t)
	name, err := create(s)
	if err != nil {
		t.Fatalf("pgtest: database for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := s.dropLater(name); err != nil {
			t.Errorf("pgtest: drop a test's database: %v", err)
		}
	})
	return s.dsn(name)
}

// Open is DSN with a pool of up to six connections on it: each costs the server a process, which is much of what a small test takes.
func Open(t testing.TB) *pgxpool.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pool, err := pg.Open(ctx, DSN(t), pg.MaxConns(6), pg.Name("divvy-test"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return pool
}

// closePool closes the pool; a connection that a test never gave back fails it instead of hanging it.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	done := make(chan struct{})
	go func() {
		pool.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Errorf("pgtest: the test did not give all connections of its pool back (%d still in use)", pool.Stat().AcquiredConns())
	}
}

// Tx begins a transaction on a migrated database that other tests use too. It is rolled back in the end.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	s := need(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dsn, err := s.sharedDSN()
	if err != nil {
		t.Fatalf("pgtest: shared database: %v", err)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // which rolls back
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return tx
}

// Age moves column of every row of table back by d, as if that time had passed. table may be schema-qualified
// with a dot.
func Age(t testing.TB, db interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, table, column string, d time.Duration) {
	t.Helper()
	col := pgx.Identifier{column}.Sanitize()
	sql := "UPDATE " + identifier(table) + " SET " + col + " = " + col + " - $1::interval"
	if _, err := db.Exec(context.Background(), sql, d); err != nil {
		t.Fatalf("pgtest: age %s.%s: %v", table, column, err)
	}
}

// need returns the server of this test binary, or fails the test.
func need(t testing.TB) *server {
	t.Helper()
	if !instance.main {
		t.Fatal("pgtest: the package needs func TestMain(m *testing.M) { pgtest.Main(m) }")
	}
	s, err := instance.get()
	switch {
	case err == nil:
		return s
	case testing.Short():
		t.Skipf("SKIPPED, -short and no PostgreSQL: %v", err)
	default:
		t.Fatalf("pgtest: no PostgreSQL: %v", err)
	}
	return nil
}
