package dispatcher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// A free unit that is kept for somebody whose jobs the slot cannot run is anybody's after max_hold.
func TestReservationsEnd(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50), slots("gpu", 50))
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("maya", 4)} })
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Resources: maya, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Queues: []string{"gpu"}, Resources: maya, SharingID: "bob"}})
	takeAll(t, d, "q")
	f.holds("no pilot asks at gpu: all is Alice's", map[string]int{"alice": 4})
	f.recount()
}

// What keeps a job back is said in words and numbers, by the gate that comes first.
func TestExplainResources(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 2), units("nuke", 9))
	d := f.daemon()
	bobs := f.want("bob", 3, maya)
	gone := f.want("bob", 1, map[string]int64{"gone": 1})
	takeAll(t, d, "q")
	for _, c := range []struct {
		job  int64
		gate Gate
		why  string
	}{
		{bobs[2], GateResourceCapacity, "2 of 2 units of maya are held, it needs 1; bob holds 2, its part is 2"},
		{gone[0], GateResourceUnknown, `no resource is called "gone": the site has maya, nuke`},
	} {
		e, err := d.Explain(t.Context(), c.job)
		if err != nil || e.Gate != c.gate || len(e.Queues) != 1 || e.Queues[0].Reason != c.why {
			t.Errorf("%+v, %v: want %s: %s", e, err, c.gate, c.why)
		}
	}
	if err := d.ReportExternal(t.Context(), "maya", "", 1, 0); err != nil {
		t.Fatal(err)
	}
	if e, err := d.Explain(t.Context(), bobs[2]); err != nil || e.Gate != GateResourceCapacity {
		t.Errorf("%+v, %v", e, err)
	}
}

// A7: three units, five IDs: one each, and they go round: after every end it is the turn of who waited longest.
func TestUnitsGoRound(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 3))
	d := f.daemon()
	of := map[int64]string{}
	for _, user := range []string{"alice", "bob", "carol", "dora", "emil"} {
		for _, id := range f.want(user, 20, maya) {
			of[id] = user
		}
	}
	running := takeAll(t, d, "q")
	got := map[string]int{}
	for range 20 {
		finish(t, d, Finished, running[0])
		running = append(running[1:], takeAll(t, d, "q")...)
		if len(running) != 3 {
			t.Fatalf("%d run, want 3", len(running))
		}
		now := map[string]bool{}
		for _, l := range running {
			now[of[l.Job]] = true
		}
		if len(now) != 3 {
			t.Fatalf("%v hold the three units", now)
		}
		got[of[running[2].Job]]++
	}
	for user, n := range got {
		if n != 4 {
			t.Errorf("%s was given %d of 20 units, want 4: %v", user, n, got)
		}
	}
	f.recount()
}

// A unit that is free for somebody whose pilots are elsewhere is kept for max_hold; then anybody may have it.
func TestUnitsAreKeptForAWhile(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50), slots("gpu", 50))
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("maya", 4)} })
	d := f.daemon()
	now := time.Now()
	d.mu.Lock()
	d.state.clock = func() time.Time { return now }
	d.mu.Unlock()
	noJob(t, d, "gpu") // a pilot is there, busy
	alices := f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Queues: []string{"q"}, Resources: maya, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Queues: []string{"gpu"}, Resources: maya, SharingID: "bob"}})
	takeAll(t, d, "q")
	f.holds("two are kept for Bob", map[string]int{"alice": 2})
	e, err := d.Explain(t.Context(), alices[8])
	if want := "alice holds 2 of maya, which is its part of 4; 2 are free, and kept for bob for 1m0s at most"; err != nil || e.Gate != GateResourceAllowance || e.Queues[0].Reason != want {
		t.Errorf("%+v, %v: want %s", e, err, want)
	}
	list, err := d.Resources(t.Context(), "maya")
	if err != nil || list[0].Kept != 2 || list[0].Free != 2 || list[0].Waiting != 2 || list[0].Holders != 1 ||
		list[0].IDs[0].Why != resource.OverItsPart || list[0].IDs[1].Why != "" {
		t.Errorf("%+v, %v", list, err)
	}
	d.mu.Lock()
	now = now.Add(61 * time.Second)
	d.mu.Unlock()
	takeAll(t, d, "q")
	f.holds("nobody came", map[string]int{"alice": 4})
	f.recount()
}

// What a job with two resources needs is booked for it after max_bypass grants have passed it.
func TestBypassedJobsGetTheirUnits(t *testing.T) {
	x, y := units("x", 2), units("y", 2)
	x.MaxBypass = 5
	f := scarceSite(t, 100, x, y)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 40, need: job.Requirements{Resources: map[string]int64{"x": 1}, SharingID: "alice"}})
	running := takeAll(t, d, "q")
	wide := f.enqueue(batch{share: "A", n: 1, priority: 9, need: job.Requirements{Resources: map[string]int64{"x": 2, "y": 2}, SharingID: "alice"}})
	passed := 0
	for ; passed < 30; passed++ {
		if len(running) == 0 {
			break
		}
		finish(t, d, Finished, running[0])
		got := takeAll(t, d, "q")
		running = append(running[1:], got...)
		if len(got) == 1 && got[0].Job == wide[0] {
			break
		}
	}
	if passed < 4 || passed > 9 {
		t.Errorf("it was given both after %d ends, want some more than the 5 that may pass it", passed)
	}
	f.recount()
}

// Two daemons share the units out, and never give more than there are.
func TestUnitsOfTwoDaemons(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 5))
	a, b := f.daemon(), f.daemon()
	f.want("alice", 20, maya)
	f.want("bob", 20, maya)
	pull := func(d *Dispatcher) (Lease, bool) {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 3})
		if errors.Is(err, ErrNoJobs) {
			return Lease{}, false
		}
		if err != nil {
			t.Fatal(err)
		}
		return reply.Leases[0], true
	}
	var running []Lease
	for i := range 5 {
		l, ok := pull([]*Dispatcher{a, b}[i%2])
		if !ok {
			t.Fatalf("nothing at daemon %d, with %d of 5 units held", i%2, i)
		}
		running = append(running, l)
	}
	for _, d := range []*Dispatcher{a, b} {
		if got := takeAll(t, d, "q"); len(got) > 0 {
			t.Fatalf("%d leases more than there are units", len(got))
		}
	}
	finish(t, a, Finished, running[0]) // a's unit, which b needs
	if _, ok := pull(b); !ok {
		t.Error("nothing at b with a free unit")
	}
	if held := f.holders(); held["alice"] < 2 || held["bob"] < 2 {
		t.Errorf("held %v", held)
	}
	f.recount()
}

// Whose pilots ask another daemon is not forgotten: what is his part is kept for him.
func TestPilotsOfAnotherDaemonCount(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50), slots("gpu", 50))
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("maya", 4)} })
	here, there := f.daemon(), f.daemon()
	noJob(t, there, "gpu")
	if _, err := there.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Queues: []string{"q"}, Resources: maya, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Queues: []string{"gpu"}, Resources: maya, SharingID: "bob"}})
	takeAll(t, here, "q")
	f.holds("two are kept for Bob", map[string]int{"alice": 2})
	for range 2 {
		if _, err := there.Pull(t.Context(), PullRequest{Queue: "gpu", Pilot: "p", WaitS: 5}); err != nil {
			t.Error(err)
		}
	}
	f.recount()
}

// A11: nothing is kept for jobs that ask for more units than there are. When there are as many, it is their turn.
func TestMoreUnitsThanThereAre(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 4))
	d := f.daemon()
	carols := f.want("carol", 2, map[string]int64{"maya": 6})
	f.want("bob", 30, maya)
	takeAll(t, d, "q")
	f.holds("while there are four", map[string]int{"bob": 4})
	e, err := d.Explain(t.Context(), carols[0])
	if why := "it needs 6 units of maya, and there are 4 in all: no end of a job helps"; err != nil || e.Gate != GateResourceCapacity || e.Queues[0].Reason != why {
		t.Errorf("%+v, %v: want %s", e, err, why)
	}
	f.apply(func(v *shares.Version) {
		v.Resources = []shares.Resource{units("maya", 4)}
		v.Resources[0].Live = []shares.LiveCapacity{{Capacity: 12}}
	})
	takeAll(t, d, "q")
	f.holds("when there are twelve", map[string]int{"bob": 6, "carol": 1})
	f.recount()
}
