package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// loaded is a stage with a small data set and no daemon.
func loaded(t *testing.T) *stage {
	t.Helper()
	s := &stage{Sizes: Base(), cfg: Config{Progress: io.Discard}, report: &Report{Began: time.Now()}, place: &place{pool: pgtest.Open(t)}}
	s.Ready, s.Held, s.Rounds = 1000, 0, 1
	if _, err := s.load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// The transaction sees nothing of what comes after it; when it was ended by others, that is found out.
func TestSnapshotStaysOpen(t *testing.T) {
	ctx := context.Background()
	s := loaded(t)
	held, err := s.openSnapshot(ctx)
	if err != nil || held.made != 1000 {
		t.Fatalf("%+v %v", held, err)
	}
	defer held.close(ctx)
	var limit string
	if err := held.tx.QueryRow(ctx, "SHOW idle_in_transaction_session_timeout").Scan(&limit); err != nil || limit != "0" {
		t.Errorf("it may be idle for %s, %v", limit, err)
	}
	if err := s.submit(ctx, 0, 500); err != nil {
		t.Fatal(err)
	}
	if _, err := s.generate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := held.check(ctx); err != nil {
		t.Error(err)
	}
	if late, err := s.openSnapshot(ctx); err != nil || late.made != 1500 {
		t.Errorf("a new one: %+v %v", late, err)
	} else {
		late.close(ctx)
	}
	other := *held
	other.made++
	var check *CheckError
	if err := other.check(ctx); !errors.As(err, &check) {
		t.Errorf("it sees something else: %v", err)
	}
	if _, err := s.place.pool.Exec(ctx, "SELECT pg_terminate_backend($1::int, 10000)", int(held.conn.Conn().PgConn().PID())); err != nil {
		t.Fatal(err)
	}
	if held.check(ctx) == nil {
		t.Error("it was ended, and nobody noticed")
	}
	dead, err := s.deadRows(ctx)
	if err != nil || len(dead) != 4 || dead[0].Name != "dead rows of held at the end" {
		t.Errorf("%+v %v", dead, err)
	}
}

// Slices are equal, whole for every connection, and together no fewer than asked for.
func TestSlice(t *testing.T) {
	for _, c := range []struct{ ready, snapshot, pullers, want int }{
		{1_000_000, 10_000_000, 256, 400_128},
		{200_000, 300_000, 256, 75_008},
		{1000, 100, 256, 256},
		{1000, 400, 1, 400},
	} {
		s := &stage{Sizes: Sizes{Ready: c.ready, Snapshot: c.snapshot, Pullers: c.pullers}}
		if got := s.slice(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// What pilots were told must be what the leases say.
func TestRenewedIsChecked(t *testing.T) {
	ctx := context.Background()
	s := loaded(t)
	const insert = `INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason)
		SELECT id, id, 1, 1, 0, 1000, now(), gen_random_uuid(), 1, 1, 1, 1, 5, 0, 0, $1, 'n', '' FROM jobs ORDER BY id OFFSET $2 LIMIT 10`
	for i, pilot := range []string{"held-0", "held-1", "p0"} { // the last one holds what was claimed beside
		if _, err := s.place.pool.Exec(ctx, insert, pilot, 10*i); err != nil {
			t.Fatal(err)
		}
	}
	load := renewOrder{Leases: 20, Every: time.Second}
	for _, good := range []renewRounds{{kept: 20}, {kept: 45}} { // more than one period: each is there once
		if err := s.renewed(ctx, load, good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []renewRounds{{kept: 19}, {kept: 19, lost: 1}, {kept: 20, lost: 1}} {
		var check *CheckError
		if err := s.renewed(ctx, load, bad); !errors.As(err, &check) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	s.figures7(renewRounds{without: []float64{100}, with: []float64{60}, rates: []float64{16_000}, slow: []float64{3}, latest: []float64{2, 31, 3}})
	s.figures6(claimRounds{rates: []float64{100}, p99s: []float64{10}}, claimRounds{rates: []float64{60}, p99s: []float64{20}}, newSeries("s", "jobs/s", []float64{1}), nil)
	var lines []string
	for _, f := range s.report.Figures {
		lines = append(lines, f.Line())
	}
	want := "[S7 ratio 0.60 target 0.80 below S7 renewed_per_s 16000 target 16666 below S7 renewed_p99_ms 3.0 target 10.0 ok S7 renewed_latest_s 31.0 target 30.0 below S6 ratio 0.60 target 0.70 below S6 p99_ratio 2.0 target 3.0 ok]"
	if got := fmt.Sprint(lines); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
