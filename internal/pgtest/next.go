package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations/next"
)

// OpenNext is Open with the schema of package migrations/next. The first day of its tables is today; jobs have no partition yet.
func OpenNext(t testing.TB) *pgxpool.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pool, err := pg.Open(ctx, database(t, (*server).cloneNext), pg.MaxConns(16), pg.Name("divvy-test"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return pool
}

// NextTx begins a transaction on a database of its own with the schema of package migrations/next.
func NextTx(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := OpenNext(t).Begin(context.Background())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// cloneNext makes a database like the template of the next schema, which the first call makes.
func (s *server) cloneNext() (string, error) {
	s.nextOnce.Do(func() { s.nextErr = s.makeNext(s.nextTemplate()) })
	if s.nextErr != nil {
		return "", s.nextErr
	}
	return s.named(" TEMPLATE " + identifier(s.nextTemplate()) + " STRATEGY file_copy")
}

func (s *server) nextTemplate() string { return s.template + "_next" }

func (s *server) makeNext(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.admin.Exec(ctx, "CREATE DATABASE "+identifier(name)); err != nil {
		return err
	}
	db, err := pg.Open(ctx, s.dsn(name), pg.MaxConns(1))
	if err != nil {
		return err
	}
	defer db.Close() // a template must have no connection
	if err := next.Up(ctx, db); err != nil {
		return err
	}
	_, err = db.Exec(ctx, makeNextDays)
	return err
}

const makeNextDays = `SELECT divvy_make_day(parent, (now() AT TIME ZONE 'UTC')::date + i)
	FROM unnest('{attempt_texts,payload_logs,share_samples}'::text[]) AS parent, generate_series(0, 1) AS i`
