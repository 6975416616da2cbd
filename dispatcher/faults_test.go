package dispatcher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// open makes a daemon that does nothing by itself.
func (f *fixture) open() *Dispatcher {
	f.t.Helper()
	d, err := Open(context.Background(), Config{Pool: f.pool, Load: f.load})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// agrees compares what a daemon counts with the tables, once it has caught up.
func (f *fixture) agrees(d *Dispatcher) {
	f.t.Helper()
	if _, err := d.Refresh(context.Background()); err != nil {
		f.t.Fatal(err)
	}
	held, ready := f.heldBy(), map[string]int{}
	for path := range held {
		var n int
		f.scan(&n, "SELECT count(*) FROM jobs j JOIN shares s ON s.id = j.share_id WHERE s.path = $1 AND j.state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)", path)
		ready[path] = n
	}
	for _, p := range d.Standing().Pools {
		for _, s := range p.Shares {
			if s.Leaf && int(s.HeldJobs) != held[s.Path] || s.Leaf && held[s.Path] > 0 && int(s.Ready) != ready[s.Path] {
				f.t.Errorf("%s: the daemon counts %d held and %d ready, the tables %d and %d", s.Path, s.HeldJobs, s.Ready, held[s.Path], ready[s.Path])
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, l := range d.state.limits {
		var free, granted shares.Units
		f.scan(&free, "SELECT free FROM limits WHERE kind = $1 AND ref = $2 AND pool = $3", key.Kind, key.Ref, key.Pool)
		f.scan(&granted, "SELECT coalesce(sum(granted), 0)::bigint FROM escrow WHERE kind = $1 AND ref = $2 AND pool = $3", key.Kind, key.Ref, key.Pool)
		total := 0
		for _, n := range held {
			total += n
		}
		if len(d.daemons) == 1 && key.Kind != "share" && l.cap-free-l.balance() != shares.Units(total)*1000 {
			f.t.Errorf("%v: cap %d, free %d, escrow %d of %d granted, but %d are held", key, l.cap, free, l.balance(), granted, total)
		}
	}
	if len(d.state.inflight) != 0 {
		f.t.Errorf("%d jobs are still in flight", len(d.state.inflight))
	}
}

// decided puts pulls in line and decides them, as a lease worker would, but leases nothing.
func decided(t *testing.T, d *Dispatcher, n int) leaseBatch {
	t.Helper()
	for range n {
		p, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 60})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.admit(p); err != nil {
			t.Fatal(err)
		}
	}
	return decidedAgain(t, d, n)
}

// decidedAgain makes a batch of the n pulls in line.
func decidedAgain(t *testing.T, d *Dispatcher, n int) (batch leaseBatch) {
	t.Helper()
	eventually(t, "the pulls are decided", func() bool {
		need := newNeeds(firstGrantLane)
		d.mu.Lock()
		batch.pulls = append(batch.pulls, d.line.next(d, mostGrants, need)...)
		batch.epoch = d.state.epoch
		d.mu.Unlock()
		d.satisfy(need)
		return len(batch.pulls) == n
	})
	return batch
}

// The connection breaks during a grant: it committed, or it did not, and nobody knows until the lane is resolved.
func TestGrantInDoubt(t *testing.T) {
	for name, commits := range map[string]bool{"committed": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
			f.enqueue(batch{share: "A", n: 8})
			d := f.open()
			b := decided(t, d, 5)
			l := d.lane(firstGrantLane)
			if commits {
				if took, current, err := d.execLease(context.Background(), l, b); err != nil || !current || !took.all {
					t.Fatalf("grant: %v %v %v", took, current, err)
				}
			}
			l.doubt, l.pending = true, b
			if err := d.resolveLane(context.Background(), l); err != nil {
				t.Fatal(err)
			}
			f.agrees(d)
			f.recount()
			// The lost grant must never be able to commit afterwards; the jobs go to the next pulls.
			if _, _, err := d.execLease(context.Background(), &lane{daemon: l.daemon, no: l.no, seq: l.seq - 1}, b); !commits && err == nil {
				t.Error("a grant whose place in the lane was taken committed")
			}
			next := decided(t, d, map[bool]int{true: 3, false: 5}[commits])
			d.lease(context.Background(), l, next)
			f.agrees(d)
			f.recount()
			if held := f.heldBy()["A"]; held != map[bool]int{true: 8, false: 5}[commits] {
				t.Errorf("%d held", held)
			}
		})
	}
}

// endsOf ends the attempts that a batch began.
func endsOf(t *testing.T, b leaseBatch, outcome Outcome) (ends []ended) {
	t.Helper()
	for _, p := range b.pulls {
		key, ok := parseLease(p.leases[0].Lease)
		if !ok {
			t.Fatalf("no lease: %q", p.leases[0].Lease)
		}
		ends = append(ends, ended{key: key, outcome: outcome})
	}
	return ends
}

// The same for a batch of ends.
func TestEndInDoubt(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.enqueue(batch{share: "A", n: 4})
	d := f.open()
	b := decided(t, d, 4)
	d.lease(context.Background(), d.lane(firstGrantLane), b)
	ends := endsOf(t, b, Failed)
	l := d.lane(firstEndLane)
	if _, err := d.execEnd(context.Background(), l, ends[:3]); err != nil {
		t.Fatal(err)
	}
	l.doubt = true // the answer was lost
	out, err := d.endBatch(context.Background(), 0, ends)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if v != (verdict{Recorded, "ready"}) {
			t.Errorf("end %d said again: %+v", i, v)
		}
	}
	f.agrees(d)
	f.recount()
}

// A daemon that was silent for too long is closed: its grants take nothing, its escrow is free for others, and it
// starts anew by itself.
func TestSilentDaemon(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.enqueue(batch{share: "A", n: 20})
	paused := f.open()
	b := decided(t, paused, 4)
	paused.lease(context.Background(), paused.lane(firstGrantLane), b)
	late := decided(t, paused, 3) // and now it is stopped in the middle of a grant

	other := f.open()
	pgtest.Age(t, f.pool, "daemons", "seen_at", time.Minute)
	f.exec("UPDATE daemons SET seen_at = now() WHERE id = $1", other.id)
	if n, err := other.Heartbeat(context.Background()); n != 1 || err != nil {
		t.Fatalf("heartbeat: %d %v", n, err)
	}
	if _, err := other.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got int
	for {
		p := decided(t, other, 1)
		other.lease(context.Background(), other.lane(firstGrantLane), p)
		if got++; got == 6 {
			break
		}
	}
	if held := f.heldBy()["A"]; held != 10 {
		t.Fatalf("%d held, want all 10 slots", held)
	}
	old := paused.id
	paused.lease(context.Background(), paused.lane(firstGrantLane), late)
	if held := f.heldBy()["A"]; held != 10 {
		t.Errorf("%d held: the closed daemon's grant committed", held)
	}
	if paused.id == old {
		t.Error("the closed daemon did not start anew")
	}
	f.agrees(paused)
	f.recount()
}

// A statement that the database refuses gives the jobs back and tells the pulls.
func TestGrantFails(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.enqueue(batch{share: "A", n: 3})
	d := f.open()
	b := decided(t, d, 3)
	f.exec("ALTER TABLE leases ADD CONSTRAINT broken CHECK (job_id < 0) NOT VALID")
	d.lease(context.Background(), d.lane(firstGrantLane), b)
	for _, p := range b.pulls {
		if p.err == nil || errors.Is(p.err, ErrNoJobs) {
			t.Errorf("pull: %v, want the database's error", p.err)
		}
	}
	f.exec("ALTER TABLE leases DROP CONSTRAINT broken")
	d.lease(context.Background(), d.lane(firstGrantLane), decided(t, d, 3))
	f.agrees(d)
	f.recount()
}
