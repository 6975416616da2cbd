package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// A daemon that is frozen inside a transaction that keeps Barrier away, whether it was about to say something or to read,
// does not keep others from closing it: its session is ended, long before it would be for being idle. One that is at work
// is left alone.
func TestFrozenInATransaction(t *testing.T) {
	for name, freeze := range map[string]func(tx pgx.Tx) error{
		"about to say something": func(pgx.Tx) error { return nil },
		"in the midst of rows": func(tx pgx.Tx) error { // nobody reads them, and the socket holds no 100 MB
			_, err := tx.Query(context.Background(), "SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
			frozen := f.open()
			conn, err := pgx.Connect(ctx, f.pool.Config().ConnString())
			if err != nil {
				t.Fatal(err)
			}
			pid := conn.PgConn().PID()
			defer conn.Close(context.Background())
			tx, err := conn.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := barrierShared(ctx, tx); err != nil {
				t.Fatal(err)
			}
			if err := freeze(tx); err != nil {
				t.Fatal(err)
			}

			other, err := Open(ctx, Config{Pool: f.pool, Load: f.load, Timing: Timing{DaemonTTL: 200 * time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the session waits for longer than the half of DaemonTTL", func() bool {
				var waits bool
				f.scan(&waits, `SELECT wait_event_type IS NOT DISTINCT FROM 'Client' AND greatest(state_change, query_start) < clock_timestamp() - interval '150 ms'
					FROM pg_stat_activity WHERE pid = $1`, pid)
				return waits
			})
			pgtest.Age(t, f.pool, "daemons", "seen_at", time.Minute)
			if n, err := other.Heartbeat(ctx); n != 1 || err != nil {
				t.Fatalf("heartbeat: %d %v", n, err)
			}
			var closed bool
			f.scan(&closed, "SELECT closed_at IS NOT NULL FROM daemons WHERE id = $1", frozen.id)
			if !closed {
				t.Error("the frozen daemon was not closed")
			}
			eventually(t, "the session is gone", func() bool {
				var there bool
				f.scan(&there, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", pid)
				return !there
			})
		})
	}
}

// Who waits for its turn at the lock, or holds it for less time than a silent daemon would have, is no sleeper.
func TestWorkersAreNoSleepers(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.open()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if err := barrierShared(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	d.endSleepers(t.Context())
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the session of a live daemon was ended: %v", err)
	}
}
