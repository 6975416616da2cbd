package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// loaded is a run with a small data set and no daemon.
func loaded(t *testing.T) *run {
	t.Helper()
	sizes := Base()
	sizes.Ready, sizes.Held, sizes.Rounds = 1000, 0, 1
	r := runOn(sizes, stage.On(pgtest.Open(t)), nil)
	if _, err := r.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

// The transaction sees nothing of what comes after it; when it was ended by others, that is found out.
func TestSnapshotStaysOpen(t *testing.T) {
	ctx := context.Background()
	r := loaded(t)
	under := func(do func(db pg.Querier) error) error {
		return r.Place.InSnapshot(ctx, func(db pg.Querier) error { return held(ctx, db, func() error { return do(db) }) })
	}
	err := under(func(db pg.Querier) error {
		if limit, err := recount.Value[string](ctx, db, "SHOW idle_in_transaction_session_timeout"); err != nil || limit != "0" {
			t.Errorf("it may be idle for %s, %v", limit, err)
		}
		if err := r.Submit(ctx, stage.Tasks(500, r.Leaves)); err != nil {
			return err
		}
		_, err := r.Generate(ctx)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	var check *recount.Error
	err = held(ctx, r.Place.Pool, func() error { // each read is of its own moment
		if err := r.Submit(ctx, stage.Tasks(500, r.Leaves)); err != nil {
			return err
		}
		_, err := r.Generate(ctx)
		return err
	})
	if !errors.As(err, &check) {
		t.Errorf("it sees something else: %v", err)
	}
	err = under(func(db pg.Querier) error {
		pid, err := recount.Value[int](ctx, db, "SELECT pg_backend_pid()")
		if err == nil {
			_, err = r.Place.Pool.Exec(ctx, "SELECT pg_terminate_backend($1::int, 10000)", pid)
		}
		if err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if err == nil {
		t.Error("it was ended, and nobody noticed")
	}
	dead, err := deadRows(ctx, r.Place.Pool)
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
		r := runOn(Sizes{Sizes: stage.Sizes{Ready: c.ready, Pullers: c.pullers}, Snapshot: c.snapshot}, nil, nil)
		if got := r.slice(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// What pilots were told must be what the leases say.
func TestRenewedIsChecked(t *testing.T) {
	ctx := context.Background()
	r := loaded(t)
	const insert = `INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason)
		SELECT id, id, 1, 1, 0, 1000, now(), gen_random_uuid(), 1, 1, 1, 1, 5, 0, 0, $1, 'n', '' FROM jobs ORDER BY id OFFSET $2 LIMIT 10`
	for i, pilot := range []string{"held-0", "held-1", "p0"} { // the last one holds what was claimed beside
		if _, err := r.Place.Pool.Exec(ctx, insert, pilot, 10*i); err != nil {
			t.Fatal(err)
		}
	}
	turnsOf := func(kept, lost int) *turns {
		return &turns{r: r, load: load.Renewals{Leases: 20, Every: time.Second}, renewed: renewed{kept: kept, lost: lost}}
	}
	for _, good := range []*turns{turnsOf(20, 0), turnsOf(45, 0)} { // more than one period: each is there once
		if err := good.check(ctx); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []*turns{turnsOf(19, 0), turnsOf(19, 1), turnsOf(20, 1)} {
		var check *recount.Error
		if err := bad.check(ctx); !errors.As(err, &check) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	beside := turnsOf(20, 0)
	beside.latest = []float64{2, 31, 3}
	r.Brief = true // the few jobs of above are in no count
	beside.rounds.Add("claims beside renewals", "jobs/s", 60)
	beside.rounds.Add("leases renewed while jobs were claimed", "leases/s", 16_000)
	beside.rounds.Add("p99 of a call, from when it was due", "ms", 3)
	if err := beside.end(ctx, figure.Of("claims over HTTP", "jobs/s", 100)); err != nil {
		t.Fatal(err)
	}
	var before, after figure.Rounds
	for rate, rounds := range map[float64]*figure.Rounds{100: &before, 60: &after} {
		rounds.Add("claims over HTTP", "jobs/s", rate)
		rounds.Add("p99 of a claim", "ms", 10+(100-rate)/4)
		rounds.Add("every slice under it", "jobs/s", 1)
	}
	r.Book.Add(snapshotFigures(&before, &after, nil)...)
	var lines []string
	for _, f := range r.Book.Figures {
		lines = append(lines, f.Line())
	}
	want := "[S7 ratio 0.60 target 0.80 below S7 renewed_per_s 16000 target 16666 below S7 renewed_p99_ms 3.0 target 10.0 ok S7 renewed_latest_s 31.0 target 30.0 below S6 ratio 0.60 target 0.70 below S6 p99_ratio 2.0 target 3.0 ok]"
	if got := fmt.Sprint(lines); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
