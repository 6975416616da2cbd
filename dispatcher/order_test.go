package dispatcher

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A grant that was decided on old news locks the row of a job whose lease is just being ended. Neither may wait for
// the other: the end waits for the grant, which finds the lease there and leaves it alone.
func TestStaleGrantAndEndDoNotDeadlock(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	l := pull1(t, d, "q")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	grant, err := f.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer grant.Rollback(context.Background())
	must := func(sql string) {
		t.Helper()
		if _, err := grant.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	must("SET LOCAL lock_timeout = '300ms'")
	must("SELECT FROM jobs FOR UPDATE SKIP LOCKED")
	reply := make(chan FinishReply, 1)
	go func() {
		r, err := d.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished}}})
		if err != nil {
			t.Error(err)
		}
		reply <- r
	}()
	eventually(t, "the end waits for the grant", func() bool {
		var waits bool
		f.scan(&waits, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple'))")
		return waits
	})
	must(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
			daemon_id, expires_at, ttl_s)
		SELECT job_id, attempt, nonce + 1, task_id, share_id, shape_id, queue_id, units, cores, priority, 'other', node,
			daemon_id, expires_at, ttl_s FROM leases
		ON CONFLICT (job_id) DO NOTHING`)
	if err := grant.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if r := <-reply; len(r.Verdicts) != 1 || r.Verdicts[0].Verdict != Recorded || r.Verdicts[0].JobState != "finished" {
		t.Errorf("the end: %+v", r)
	}
	f.recount()
}

// A repeat that came while the first call was served, and whose first call then left without an answer, is decided
// itself: it is not told "no job" for the other's sake.
func TestRepeatOfAPullThatLeft(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	eventually(t, "the job is known", func() bool { return d.Queues()[0].Ready == 1 })
	req := PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "1"}
	first, err := newPull(req)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.requests[first.key] = first // it is being served
	d.mu.Unlock()
	type answer struct {
		PullReply
		error
	}
	got := make(chan answer, 1)
	go func() {
		r, err := d.Pull(context.Background(), req)
		got <- answer{r, err}
	}()
	select {
	case a := <-got:
		t.Fatalf("answered before the first: %+v", a)
	case <-time.After(50 * time.Millisecond):
	}
	d.leave(first)
	if a := <-got; a.error != nil || len(a.Leases) != 1 {
		t.Errorf("%+v, %v; want the job", a.PullReply, a.error)
	}
	if _, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p"}); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%v", err)
	}
}

// runs lets a daemon that was opened work until the test ends.
func runs(t *testing.T, d *Dispatcher) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	running.Go(func() {
		for tick := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			_, _ = d.Refresh(ctx)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// A grant in doubt had the last jobs: no grant is to come that would resolve its lane, and it is resolved all the same.
func TestDoubtfulGrantIsTended(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	f.enqueue(batch{share: "A", n: 2})
	d := f.open()
	b := decided(t, d, 2)
	l := d.lane(firstGrantLane)
	l.doubt, l.pending = true, b // the connection broke, and nothing was committed
	runs(t, d)
	pull1(t, d, "q")
	pull1(t, d, "q")
	f.recount()
}

// Ends in doubt had all that was held: no other end is to come, and the slots are free all the same.
func TestDoubtfulEndIsTended(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	f.enqueue(batch{share: "A", n: 4})
	d := f.open()
	b := decided(t, d, 2)
	d.lease(context.Background(), d.lane(firstGrantLane), b)
	l := d.lane(firstEndLane)
	if rows, err := d.execEnd(context.Background(), l, endsOf(t, b, Finished)); err != nil || len(rows) != 2 {
		t.Fatalf("%d ended, %v", len(rows), err)
	}
	l.doubt = true // it was committed, but the answer got lost
	runs(t, d)
	pull1(t, d, "q")
	pull1(t, d, "q")
	f.recount()
}

// A pull whose grant came to nothing while the daemon stops is told so; it does not wait in a line that nobody serves.
func TestStopReachesPullsInBatches(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	f.enqueue(batch{share: "A", n: 1})
	d := f.open()
	b := decided(t, d, 1)
	d.Drain()
	d.tryAgain(b)
	select {
	case <-b.pulls[0].done:
		if !errors.Is(b.pulls[0].err, ErrStopping) {
			t.Errorf("answered with %v", b.pulls[0].err)
		}
	default:
		t.Error("it waits")
	}
}

// The limits are read again while a return is on its way: it is waited for, so that its units are not spent twice.
func TestReloadWaitsForReturns(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
	f.enqueue(batch{share: "A", n: 4})
	d := f.open()
	b := decided(t, d, 1) // which takes all units
	d.lease(context.Background(), d.lane(firstGrantLane), b)
	key := queueLimit(f.version.Queues[0].ID)
	refresh := func() {
		t.Helper()
		if _, err := d.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.Background(), "SELECT FROM limits FOR UPDATE"); err != nil {
			return err
		}
		d.mu.Lock()
		d.yieldOne(d.state.limits[key])
		d.outdated = true
		d.mu.Unlock()
		refresh()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.work.Wait()
	refresh()
	d.mu.Lock()
	granted := d.state.limits[key].granted
	d.mu.Unlock()
	var want shares.Units
	f.scan(&want, "SELECT granted FROM escrow WHERE kind = 'queue'")
	if granted != want || want != 1000 {
		t.Errorf("the daemon counts on %d, its escrow is %d; want 1000", granted, want)
	}
	f.agrees(d)
}

// A daemon starts anew while ends of its are committed but not counted: they are counted once.
func TestNewStartDuringEnds(t *testing.T) {
	for _, when := range []string{"before the ends", "after the ends"} {
		t.Run(when, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
			f.enqueue(batch{share: "A", n: 4})
			d := f.open()
			b := decided(t, d, 3)
			d.lease(context.Background(), d.lane(firstGrantLane), b)
			var in []ended
			for _, p := range b.pulls[:2] {
				key, _ := parseLease(p.leases[0].Lease)
				in = append(in, ended{key: key, outcome: Finished})
			}
			anew := func() {
				d.mu.Lock()
				d.lost = true
				d.mu.Unlock()
				if _, err := d.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			l := d.lane(firstEndLane)
			if when == "before the ends" {
				anew()
			}
			rows, err := d.execEnd(context.Background(), l, in)
			if err != nil || len(rows) != 2 {
				t.Fatalf("%d ended, %v", len(rows), err)
			}
			if when == "after the ends" {
				anew()
			}
			d.settleEnds(context.Background(), l, rows)
			f.agrees(d)
			if held := d.Standing().Pools[0].Held; held != 1 {
				t.Errorf("the daemon counts %v held, want 1", held)
			}
			f.recount()
		})
	}
}
