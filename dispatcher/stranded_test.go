package dispatcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// limited is a site with a hard limit of every kind over one queue: slots, and so a pool, and the max of a share.
func limited(t *testing.T, n int) *fixture {
	t.Helper()
	a := node("A", 1)
	a.Plan.Max = shares.Of(shares.Units(n) * 1000)
	return newFixture(t, []shares.Spec{a}, slots("q", n))
}

// closes lets a daemon take all others for dead, as after a time in which the database was away and it was the first to come back.
func (f *fixture) closes(d *Dispatcher) {
	f.t.Helper()
	pgtest.Age(f.t, f.pool, "daemons", "seen_at", time.Minute)
	if _, err := d.Heartbeat(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

// balanced holds, when nothing is under way, cap = held + free + escrow for every limit: in the tables, and with what the
// open daemons believe. Closed ones have none.
func (f *fixture) balanced(open ...*Dispatcher) {
	f.t.Helper()
	ctx := context.Background()
	for range 2 { // what the first look gives back the others see at the second
		for _, d := range open {
			if _, err := d.Refresh(ctx); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	for _, d := range open {
		d.work.Wait()
	}
	var held []heldRow
	_ = pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, query["rebase_clear"]); err != nil {
			f.t.Fatal(err)
		}
		var err error
		if held, err = collect[heldRow](ctx, tx, "rebase_held", nil); err != nil {
			f.t.Fatal(err)
		}
		return errors.New("only a look")
	})
	for key, want := range limitsOf(f.version, held) {
		var free, closed shares.Units
		args := []any{key.Kind, key.Ref, key.Pool}
		f.scan(&free, "SELECT free FROM limits WHERE (kind, ref, pool) = ($1, $2, $3)", args...)
		f.scan(&closed, `SELECT coalesce(sum(e.granted), 0)::bigint FROM escrow e JOIN daemons d ON d.id = e.daemon_id
			WHERE d.closed_at IS NOT NULL AND (e.kind, e.ref, e.pool) = ($1, $2, $3)`, args...)
		escrow := shares.Units(0)
		for _, d := range open {
			var granted shares.Units
			d.mu.Lock()
			l := d.state.limits[key]
			f.scan(&granted, "SELECT coalesce(sum(granted), 0)::bigint FROM escrow WHERE daemon_id = $4 AND (kind, ref, pool) = ($1, $2, $3)", append(args, d.id)...)
			if l.granted != granted {
				f.t.Errorf("%v: daemon %d believes in an escrow of %d, it has %d", key, d.id, l.granted, granted)
			}
			escrow += l.granted - l.spent
			d.mu.Unlock()
		}
		if want.held+free+escrow != want.cap || closed != 0 {
			f.t.Errorf("%v: held %d + free %d + escrow %d (and %d of closed daemons), want %d", key, want.held, free, escrow, closed, want.cap)
		}
	}
}

// takesAll pulls until all that the limits admit is held: nobody is told "no jobs" before.
func takesAll(t *testing.T, d *Dispatcher, n int) {
	t.Helper()
	for i := range n {
		if _, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}}); err != nil {
			t.Fatalf("pull %d of %d for which units are free: %v", i+1, n, err)
		}
	}
	noJob(t, d, "q")
}

// A daemon that was closed and did not hear of it yet writes down what pilots tell it. The units of those leases are free for
// whoever decides now, whatever becomes of the closed one.
func TestEndsOfAClosedDaemon(t *testing.T) {
	for _, then := range []string{"starts anew", "is gone", "never hears the answer", "starts anew before they are counted"} {
		t.Run(then, func(t *testing.T) {
			f := limited(t, 6)
			f.enqueue(batch{share: "A", n: 20})
			closed, other := f.open(), f.open()
			b := decided(t, closed, 6)
			closed.lease(context.Background(), closed.lane(firstGrantLane), b)
			f.closes(other)
			runs(t, other)
			noJob(t, other, "q")

			ends, l := endsOf(t, b, Finished)[:5], closed.lane(firstEndLane)
			rows, err := closed.execEnd(context.Background(), l, ends)
			if err != nil || len(rows) != 5 {
				t.Fatalf("%d ended, %v", len(rows), err)
			}
			open := []*Dispatcher{other}
			switch then {
			case "starts anew":
				closed.settleEnds(context.Background(), l, rows)
				open = append(open, closed)
			case "starts anew before they are counted":
				if _, err := closed.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
				closed.settleEnds(context.Background(), l, rows)
				open = append(open, closed)
			case "never hears the answer":
				l.doubt = true
				if err := closed.resolveEnds(context.Background(), l); err != nil {
					t.Fatal(err)
				}
				open = append(open, closed)
			}
			takesAll(t, other, 5)
			f.balanced(open...)
			f.recount()
		})
	}
}

// The same where the closed daemon is the only one that is left: it gives its own units back to itself.
func TestEndsOfAClosedDaemonAlone(t *testing.T) {
	f := limited(t, 6)
	f.enqueue(batch{share: "A", n: 20})
	closed, other := f.open(), f.open()
	b := decided(t, closed, 6)
	closed.lease(context.Background(), closed.lane(firstGrantLane), b)
	f.closes(other)
	if err := other.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := closed.endBatch(context.Background(), 0, endsOf(t, b, Finished)[:4]); err != nil {
		t.Fatal(err)
	}
	runs(t, closed)
	takesAll(t, closed, 4)
	f.balanced(closed)
	f.recount()
}

// A daemon that has read the limits of the present epoch before it hears that it was closed gets no escrow: nobody would have it.
func TestClosedDaemonTakesNothing(t *testing.T) {
	f := limited(t, 6)
	f.enqueue(batch{share: "A", n: 20})
	closed, other := f.open(), f.open()
	f.closes(other)
	if err := closed.reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, l := range closed.state.limits {
		closed.take(l, lack{1000, 1000}, closed.state.epoch)
	}
	runs(t, other)
	takesAll(t, other, 6)
	f.balanced(other, closed)
	f.recount()
}

// A daemon that starts anew as it could not count leaves nothing behind: neither escrow nor an elder that decides nothing.
func TestNewStartLeavesNoEscrow(t *testing.T) {
	f := limited(t, 6)
	f.enqueue(batch{share: "A", n: 20})
	d := f.open()
	b := decided(t, d, 2) // which takes all units
	d.lease(context.Background(), d.lane(firstGrantLane), b)
	old := d.id
	d.lost = true
	runs(t, d)
	eventually(t, "it has started anew", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.id != old })
	takesAll(t, d, 4)
	if n := d.Daemons(); n != 1 {
		t.Errorf("%d daemons are open, want 1", n)
	}
	f.balanced(d)
	f.recount()
}

// Two daemons at work under hard limits are closed again and again, by each other and both at once: every job is done, no pull
// with patience is told "no jobs" while there are some, and in the end every unit is where it belongs.
func TestClosedWhileAtWork(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const slots, pullers, jobs = 3, 8, 200
	f := limited(t, slots)
	f.enqueue(batch{share: "A", n: jobs})
	daemons := [2]*Dispatcher{f.open(), f.open()}
	for _, d := range daemons {
		runs(t, d)
	}
	var done, decider, held atomic.Int64
	var pilots sync.WaitGroup
	ctx, over := context.WithTimeout(context.Background(), patience)
	defer over()
	for range pullers {
		pilots.Go(func() {
			for done.Load() < jobs-pullers && ctx.Err() == nil {
				reply, err := daemons[decider.Load()].Pull(ctx, PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 3})
				if err != nil {
					t.Errorf("pull: %v, with %d of %d jobs done", err, done.Load(), jobs)
					return
				}
				if n := held.Add(1); n > slots {
					t.Errorf("%d jobs run in %d slots, with %d of %d done", n, slots, done.Load(), jobs)
				}
				runtime.Gosched()
				held.Add(-1)
				reply2, err := daemons[1-decider.Load()].Finish(ctx, FinishRequest{Results: []Result{{Lease: reply.Leases[0].Lease, Outcome: Finished}}})
				if err != nil || reply2.Verdicts[0].Verdict != Recorded {
					t.Errorf("finish: %v %v", reply2, err)
					return
				}
				done.Add(1)
			}
		})
	}
	for at := int64(10); at < jobs-20; at += 10 + random.Int64N(20) {
		eventually(t, "some more are done", func() bool { return done.Load() >= at || t.Failed() })
		decider.Store(random.Int64N(2)) // any may have closed any, whoever decides
		switch random.IntN(3) {
		case 0:
			f.closes(daemons[0])
		case 1:
			f.closes(daemons[1])
		case 2:
			var both sync.WaitGroup
			for _, d := range daemons {
				both.Go(func() { f.closes(d) })
			}
			both.Wait()
		}
	}
	pilots.Wait()
	f.balanced(daemons[:]...)
	f.recount()
}

// What was under way when a daemon started anew, with fewer shares, ends without effect on what it knows now.
func TestNewStartForgetsWindows(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 6))
	f.enqueue(batch{share: "B", n: 2})
	d := f.open()
	b := decided(t, d, 2)
	w := b.pulls[0].grants[0].window
	d.work.Wait()
	less, err := shares.Build([]shares.Spec{node("A", 1)})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.version.Tree.ByPath("A")
	id := f.version.Tree.Nodes[a].ID
	less.SetIDs(func(string) shares.ShareID { return id })
	f.apply(func(v *shares.Version) { v.Tree = less })
	d.lost = true
	if _, err := d.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, p := range b.pulls {
		p.left = true // nobody waits for them
	}
	d.fillFirst([]*window{w})
	d.fill(w)
	d.tryAgain(b)
	if n := len(d.state.inflight); n != 0 || d.state.nOpen != 0 {
		t.Errorf("%d jobs in flight, %d leaves with jobs; want none", n, d.state.nOpen)
	}
	f.enqueue(batch{share: "A", n: 6})
	runs(t, d)
	takesAll(t, d, 6)
	f.balanced(d)
}

// A batch that is decided while the one before it is in doubt is charged, however often the limits are read meanwhile.
func TestBatchBehindADoubt(t *testing.T) {
	for name, commits := range map[string]bool{"committed": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			f := limited(t, 6)
			f.enqueue(batch{share: "A", n: 20})
			d := f.open()
			l, b := d.lane(firstGrantLane), decided(t, d, 2)
			if commits {
				if took, current, err := d.execLease(context.Background(), l, b); err != nil || !current || !took.all {
					t.Fatalf("grant: %v %v %v", took, current, err)
				}
			}
			d.doubts(l, b) // the answer was lost
			refresh := func() {
				t.Helper()
				if _, err := d.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			f.apply(func(*shares.Version) {})
			refresh()
			behind := decided(t, d, 2)
			d.mu.Lock()
			d.outdated = true
			d.mu.Unlock()
			refresh()
			d.lease(context.Background(), l, behind)
			f.balanced(d)
			runs(t, d)
			takesAll(t, d, map[bool]int{true: 2, false: 4}[commits])
			f.balanced(d)
		})
	}
}
