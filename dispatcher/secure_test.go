package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func lonelyFixture(t *testing.T) (pgtest.Lonely, *fixture, *Dispatcher) {
	t.Helper()
	l := pgtest.NewLonely(t)
	f := newFixtureOn(t, l.Pool, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.enqueue(batch{share: "A", n: 2})
	d, err := Open(t.Context(), Config{Pool: l.Pool, Load: f.load, Timing: Timing{Statement: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return l, f, d
}

// The wait of an end for the standby is broken off: the primary shows the end, and the standby may not have it. Said again, it
// is not Recorded before the standby has it.
func TestRepeatedEndWaitsForTheStandby(t *testing.T) {
	t.Parallel() // it waits most of the time
	l, f, d := lonelyFixture(t)
	b := decided(t, d, 2)
	d.lease(t.Context(), d.lane(firstGrantLane), b)
	ends := endsOf(t, b, Finished)

	l.Standby("nobody")
	briefly := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	if out, err := d.endBatch(briefly(), 0, ends[:1]); !pg.IsUnavailable(err) {
		t.Fatalf("an end without the standby: %v %v, want unavailable", out, err)
	}
	eventually(t, "the end shows", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM attempts")
		return n == 1
	})
	for range 2 {
		if out, err := d.endBatch(briefly(), 0, ends[:1]); !pg.IsUnavailable(err) {
			t.Fatalf("the end again, without the standby: %v %v, want unavailable", out, err)
		}
	}
	// What promises nothing does not wait.
	other := ends[0]
	other.outcome = Failed
	if out, err := d.endBatch(t.Context(), 1, []ended{other}); err != nil || out[0].verdict != LeaseLost {
		t.Fatalf("another end of it: %v %v, want lease_lost", out, err)
	}
	l.Standby("")
	if out, err := d.endBatch(t.Context(), 0, ends); err != nil || out[0].verdict != Recorded || out[1].verdict != Recorded {
		t.Fatalf("with the standby: %v %v, want both recorded", out, err)
	}
	f.recount()
}

// The same for a grant whose pull is repeated.
func TestRepeatedPullWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	l, f, d := lonelyFixture(t)
	p, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "r1", WaitS: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.admit(p); err != nil {
		t.Fatal(err)
	}
	b := decidedAgain(t, d, 1)
	l.Standby("nobody")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := d.execLease(ctx, d.lane(firstGrantLane), b); !pg.IsUnavailable(err) {
		t.Fatalf("a grant without the standby: %v, want unavailable", err)
	}
	eventually(t, "the grant shows", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM pulls")
		return n == 1
	})
	if known, err := d.answered([]*pull{p}); !pg.IsUnavailable(err) {
		t.Fatalf("the pull again, without the standby: %v %v, want unavailable", known, err)
	}
	stranger, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "r2"})
	if err != nil {
		t.Fatal(err)
	}
	if known, err := d.answered([]*pull{stranger}); err != nil || len(known) != 0 {
		t.Fatalf("a pull that is no repeat: %v %v, want nothing at once", known, err)
	}
	l.Standby("")
	if known, err := d.answered([]*pull{p}); err != nil || !known[p.key] {
		t.Fatalf("with the standby: %v %v, want it answered", known, err)
	}
	if leases, err := d.recallLeases(t.Context(), p); err != nil || len(leases) != 1 {
		t.Fatalf("leases %v %v, want the one", leases, err)
	}
}
