package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// Lonely is a migrated database on a server of its own, whose commits can be made to wait for a standby that never comes. The
// server that tests share has no senders of its log, and waits for none.
type Lonely struct {
	*pgxpool.Pool
	t testing.TB
}

// NewLonely starts one; it is stopped in the end.
func NewLonely(t testing.TB) Lonely {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := start(ctx, map[string]string{"shared_buffers": "32MB", "max_wal_senders": "2", "wal_level": "replica"})
	if err != nil {
		t.Fatalf("pgtest: a server whose commits wait: %v", err)
	}
	own, err := use(ctx, c.DSN(), c.Stop)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := own.close(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	name, err := own.clone()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	pool, err := pg.Open(ctx, own.dsn(name), pg.MaxConns(8), pg.Name("divvy-test"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return Lonely{pool, t}
}

// Waits says whether a commit waits now. It writes nothing but to the log.
func (l Lonely) Waits() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := l.Exec(ctx, "SELECT pg_logical_emit_message(true, 'pgtest'::text, ''::text)")
	return errors.Is(err, context.DeadlineExceeded)
}

// Standby names the standby that commits wait for; empty: none. It returns when commits do so.
func (l Lonely) Standby(name string) {
	l.t.Helper()
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'", "SELECT pg_reload_conf()"} {
		if _, err := l.Exec(context.Background(), sql); err != nil {
			l.t.Fatalf("pgtest: %v", err)
		}
	}
	l.until("commits go by the setting", func() bool { return l.Waits() == (name != "") })
}

// BreakOff has a call come to the commit that waits for the standby, and breaks it off there, as a connection that breaks does:
// what it wrote shows from then on, if anything. It fails the test where the call was answered without a wait.
func (l Lonely) BreakOff(what string, call func(context.Context) error) {
	l.t.Helper()
	l.until("no commit waits before "+what, func() bool { return len(l.waiting()) == 0 })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- call(ctx) }()
	var waiting []int32
	l.until("the commit waits of "+what, func() bool {
		select {
		case err := <-answer:
			l.t.Fatalf("%s was answered (error: %v) though no standby can have it", what, err)
		default:
		}
		waiting = l.waiting()
		return len(waiting) > 0
	})
	cancel()
	if err := <-answer; err == nil {
		l.t.Fatalf("%s was answered though its commit was broken off", what)
	}
	l.until("the server notices too that "+what+" is broken off", func() (over bool) { // only then what it wrote shows
		l.scan(&over, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND state = 'active')", waiting)
		return over
	})
}

// waiting are the backends whose commits wait for the standby.
func (l Lonely) waiting() (pids []int32) {
	l.t.Helper()
	l.scan(&pids, "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	return pids
}

func (l Lonely) scan(into any, sql string, args ...any) {
	l.t.Helper()
	if err := l.QueryRow(context.Background(), sql, args...).Scan(into); err != nil {
		l.t.Fatalf("pgtest: %v", err)
	}
}

func (l Lonely) until(what string, holds func() bool) {
	l.t.Helper()
	over, again := time.After(patience), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-over:
			l.t.Fatalf("pgtest: not so: %s", what)
		case <-again.C:
		}
	}
}
