package outgrow

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/report"
)

// All reports are read from a replica by a role that may read them and nothing else, and end where the replica is.
func TestStandby(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a cluster and a replica of it")
	}
	ctx := t.Context()
	p, err := stage.OpenPlace(ctx, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	s, err := startStandby(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	commit := func(note string) (at time.Time) {
		t.Helper()
		if _, err := p.Pool.Exec(ctx, "INSERT INTO audit (who, role, subject, what, object, before, after) VALUES ('t', 'admin', '', 'test', $1::text, '', '')", note); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	first := commit("before")
	if err := s.level(ctx, p.Pool); err != nil {
		t.Fatal(err)
	}
	reader := report.NewReader(s.pool)
	for _, r := range report.List() {
		got, err := reader.Run(ctx, r.Name, "", time.Now().Add(-48*time.Hour))
		if err != nil || len(got.Columns) == 0 {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	// What the replica has not heard of is not covered.
	resume, err := s.pause(ctx)
	if err != nil {
		t.Fatal(err)
	}
	paused := time.Now()
	commit("after")
	got, err := reader.Run(ctx, "audit", "", first.Add(-time.Hour))
	if err != nil || len(got.Rows) != 1 || got.Until.After(paused) || got.Until.Before(first.Add(-time.Minute)) {
		t.Errorf("%d rows until %s, %v; want one, until %s", len(got.Rows), got.Until, err, paused)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if err := s.level(ctx, p.Pool); err != nil {
		t.Fatal(err)
	}
	if got, err := reader.Run(ctx, "audit", "", first.Add(-time.Hour)); err != nil || len(got.Rows) != 2 || !got.Until.After(paused) {
		t.Errorf("%d rows until %s, %v; want two, until after %s", len(got.Rows), got.Until, err, paused)
	}
	if _, err := s.pool.Exec(ctx, "SELECT count(*) FROM jobs"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the reader may read jobs: %v", err)
	}
}

// pause keeps a standby where it is until the returned function is called.
func (s *standby) pause(ctx context.Context) (resume func() error, err error) {
	set := func(sql string) error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		for _, step := range []string{"SET ROLE NONE", sql, "SET ROLE divvy_reader"} {
			if _, err := conn.Exec(ctx, step); err != nil {
				return err
			}
		}
		return nil
	}
	return func() error { return set("SELECT pg_wal_replay_resume()") }, set("SELECT pg_wal_replay_pause()")
}
