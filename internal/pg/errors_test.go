package pg_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// Each row makes a real error of its kind.
func TestErrorClasses(t *testing.T) {
	dsn := pgtest.DSN(t)
	cases := []struct {
		name                   string
		make                   func(ctx context.Context) error
		code                   string
		unavailable, retryable bool
	}{
		{"none", func(context.Context) error { return nil }, "", false, false},
		{"another", func(context.Context) error { return errors.New("x") }, "", false, false},
		{"no rows", func(context.Context) error { return pgx.ErrNoRows }, "", false, false},
		{"refused", func(ctx context.Context) error { return connect(ctx, "postgres://127.0.0.1:1/x") }, "", true, false},
		{"no socket", func(ctx context.Context) error { return connect(ctx, "postgres:///x?host=/nowhere") }, "", true, false},
		{"terminated", func(ctx context.Context) error {
			return onConn(ctx, dsn, "SELECT pg_terminate_backend(pg_backend_pid())")
		}, "57P01", true, false},
		{"after that", func(ctx context.Context) error {
			return onConn(ctx, dsn, "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 1")
		}, "", true, false},
		{"unique", func(ctx context.Context) error {
			return onConn(ctx, dsn, "INSERT INTO queues (name, position) VALUES ('a', 0), ('a', 1)")
		}, "23505", false, false},
		{"syntax", func(ctx context.Context) error { return onConn(ctx, dsn, "SELEKT") }, "42601", false, false},
		{"serialization", func(ctx context.Context) error { return onConn(ctx, dsn, "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$") }, "40001", false, true},
		{"too many", func(ctx context.Context) error { return onConn(ctx, dsn, "DO $$ BEGIN RAISE SQLSTATE '53300'; END $$") }, "53300", true, false},
		{"disk full", func(ctx context.Context) error { return onConn(ctx, dsn, "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$") }, "53100", true, false},
		{"statement timeout", func(ctx context.Context) error {
			return onConn(ctx, dsn, "SET statement_timeout = '10ms'", "SELECT pg_sleep(10)")
		}, "57014", true, false},
		{"lock timeout", func(ctx context.Context) error {
			holder, err := pgx.Connect(ctx, dsn)
			if err != nil {
				return err
			}
			defer holder.Close(ctx)
			if _, err := holder.Exec(ctx, "SELECT pg_advisory_lock(1)"); err != nil {
				return err
			}
			return onConn(ctx, dsn, "SET lock_timeout = '10ms'", "SELECT pg_advisory_lock(1)")
		}, "55P03", true, false},
		{"deadline", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			return onConn(ctx, dsn, "SELECT pg_sleep(10)")
		}, "", true, false},
		{"cancelled", func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return onConn(ctx, dsn, "SELECT 1")
		}, "", false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.make(t.Context())
			if err != nil {
				err = fmt.Errorf("wrapped: %w", err)
			}
			if got := pg.Code(err); got != c.code {
				t.Errorf("code %q, want %q (%v)", got, c.code, err)
			}
			if got := pg.IsUnavailable(err); got != c.unavailable {
				t.Errorf("unavailable %v, want %v (%v)", got, c.unavailable, err)
			}
			if got := pg.IsRetryable(err); got != c.retryable {
				t.Errorf("retryable %v, want %v (%v)", got, c.retryable, err)
			}
		})
	}
}

func connect(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err == nil {
		err = conn.Close(ctx)
	}
	return err
}

// onConn runs statements on one connection and returns the error of the last one.
func onConn(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		_, err = conn.Exec(ctx, s)
	}
	return err
}

func TestOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, dsn := range []string{"postgres://" + l.Addr().String() + "/x?sslmode=disable", "postgres://127.0.0.1:1/x", "no such thing"} {
		if db, err := pg.Open(ctx, dsn); err == nil {
			db.Close()
			t.Errorf("%s: no error", dsn)
		}
	}
	db, err := pg.Open(t.Context(), pgtest.DSN(t), pg.MaxConns(2), pg.Name("me"), pg.StatementTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var name, limit string
	if err := db.QueryRow(t.Context(), "SELECT current_setting('application_name'), current_setting('statement_timeout')").Scan(&name, &limit); err != nil {
		t.Fatal(err)
	}
	if name != "me" || limit != "1s" || db.Config().MaxConns != 2 {
		t.Errorf("name %q, timeout %q, connections %d", name, limit, db.Config().MaxConns)
	}
}

// A server that somebody else runs compiles statements unless told otherwise; divvy's do not live that long.
func TestOpenDoesNotCompile(t *testing.T) {
	dsn := pgtest.DSN(t)
	first, err := pg.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$"); err != nil {
		t.Fatal(err)
	}
	first.Close()
	db, err := pg.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var jit string
	if err := db.QueryRow(t.Context(), "SELECT current_setting('jit')").Scan(&jit); err != nil || jit != "off" {
		t.Errorf("jit is %q, %v; want off", jit, err)
	}
}
