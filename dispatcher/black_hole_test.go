package dispatcher

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// holeSite is two queues of which one may be found to be a black hole by few attempts.
func holeSite(t *testing.T) *fixture {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("bad", 100), slots("good", 100))
	f.apply(func(v *shares.Version) {
		v.Attempts = &retry.Policy{BlackHole: retry.BlackHole{Fails: 0.9, Sample: 10, Window: time.Hour, Probe: time.Hour}}
	})
	return f
}

// endAll pulls n jobs at a queue and ends them all.
func endAll(t *testing.T, d *Dispatcher, queue string, n int, outcome Outcome) {
	t.Helper()
	reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: n}, Max: n, WaitS: 5})
	if err != nil || len(reply.Leases) != n {
		t.Fatalf("%d leases: %v", len(reply.Leases), err)
	}
	finish(t, d, outcome, reply.Leases...)
}

func watch(t *testing.T, d *Dispatcher) int {
	t.Helper()
	n, err := d.WatchQueues(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// probeNow has the next probe of all throttled queues be due, and gives a daemon the turn where a pull of its wants one.
func (f *fixture) probeNow(d *Dispatcher) {
	f.t.Helper()
	f.exec("UPDATE black_holes SET probed_at = probed_at - interval '61 minutes'")
	if _, err := d.WatchQueues(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

func TestBlackHole(t *testing.T) {
	f := holeSite(t)
	d, other := f.daemon(), f.daemon()
	waits := f.enqueue(batch{share: "A", n: 60, attempts: 10})[59]
	endAll(t, d, "bad", 10, Failed)
	if watch(t, d) != 0 {
		t.Fatal("found though nothing is known of other queues")
	}
	endAll(t, d, "good", 5, Finished)
	if watch(t, d) != 1 || watch(t, d) != 0 || watch(t, other) != 1 {
		t.Fatal("not found, or more than once")
	}
	for _, d := range []*Dispatcher{d, other} {
		noJob(t, d, "bad")
		if q := d.Queues()[0]; q.BlackHole == nil || q.BlackHole.Ends != 10 || q.BlackHole.Fails != 10 || d.Queues()[1].BlackHole != nil {
			t.Errorf("queue %+v", q)
		}
	}
	endAll(t, d, "good", 5, Finished) // no others suffer
	e := explained(t, d, waits, func(e Explanation) bool { return gateAt(e, "bad").Gate == GateBlackHole })
	if why := gateAt(e, "bad").Reason; !strings.Contains(why, "it fails nearly all that it gets (10 of 10 attempts)") || gateAt(e, "good").Gate == GateBlackHole {
		t.Errorf("explained as %q, at the other queue %+v", why, gateAt(e, "good"))
	}

	// One job when it is time for it, whoever wants more; it counts for all.
	probe := func(outcome Outcome) {
		t.Helper()
		noJob(t, d, "bad")
		noJob(t, other, "bad")
		f.probeNow(d)
		watch(t, other)
		noJob(t, other, "bad") // the turn is taken
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "bad", Pilot: "p", Slot: job.Slot{Cores: 8}, Max: 8, WaitS: 5})
		if err != nil || len(reply.Leases) != 1 {
			t.Fatalf("%d leases: %v", len(reply.Leases), err)
		}
		noJob(t, d, "bad")
		finish(t, d, outcome, reply.Leases...)
	}
	for _, outcome := range []Outcome{Finished, Finished, Failed, Finished, Finished} {
		probe(outcome)
		if watch(t, d) != 0 {
			t.Fatal("let go too early")
		}
	}
	probe(Finished)
	watch(t, d)
	if watch(t, other) != 1 {
		t.Fatal("not let go")
	}
	endAll(t, d, "bad", 8, Finished)
	endAll(t, other, "bad", 2, Finished)
	f.recount()
}

// A pull that waits is answered with a probe when it is time; what runs for a window without a failure lets the queue go.
func TestBlackHoleEnds(t *testing.T) {
	f := holeSite(t)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 60, attempts: 10})
	endAll(t, d, "bad", 10, Failed)
	endAll(t, d, "good", 5, Finished)
	watch(t, d)
	waits := make(chan error, 1)
	go func() {
		_, err := d.Pull(context.Background(), PullRequest{Queue: "bad", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 30})
		waits <- err
	}()
	eventually(t, "the pull waits for a probe", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.wantedProbes()) == 1
	})
	f.probeNow(d)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	f.exec("UPDATE black_holes SET bad_at = bad_at - interval '61 minutes'")
	if watch(t, d) != 1 {
		t.Error("a queue where jobs run and none has failed for an hour is held back")
	}

	endAll(t, d, "bad", 10, Failed)
	watch(t, d)
	noJob(t, d, "bad")
	f.apply(func(v *shares.Version) { v.Attempts = nil })
	eventually(t, "the site does not want to know", func() bool { return d.attempts.Load() == nil })
	if watch(t, d) != 1 {
		t.Error("still held back")
	}
	endAll(t, d, "bad", 1, Finished)
}

// Where the same jobs fail elsewhere too it is theirs, and other jobs say nothing.
func TestNoBlackHole(t *testing.T) {
	f := holeSite(t)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 40, attempts: 10})
	endAll(t, d, "bad", 10, Failed)
	endAll(t, d, "good", 9, Failed)
	endAll(t, d, "good", 5, Finished)
	if watch(t, d) != 0 {
		t.Error("found though most of these jobs fail elsewhere too")
	}
	before := d.Queues()[1].Ready
	f.enqueue(batch{share: "A", n: 6, priority: 5, need: job.Requirements{Queues: []string{"good"}}})
	eventually(t, "they are known", func() bool { return d.Queues()[1].Ready == before+6 })
	endAll(t, d, "good", 6, Finished)
	if watch(t, d) != 0 {
		t.Error("found by jobs of another kind")
	}
}
