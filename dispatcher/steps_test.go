package dispatcher

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// By rules a failed job waits while its block is not known, and a killed one is cancelled, however its attempt ends. The steps run.
func TestEndsByRules(t *testing.T) {
	v := siteOf(20, 2)
	s := newTables(t)
	d, err := Open(t.Context(), Config{Pool: s.db, Outbox: s.outbox, Render: renderTrue, Daemon: 1, Site: func(context.Context, int64) (shares.Version, error) { return v, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	defer all.Wait()
	defer cancel()
	s.Dispatcher = d
	s.stock(t, v, 1000)
	take := func() machine.Lease {
		leases, err := d.pull(t.Context(), pullOf(1, 2), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return leases[0]
	}
	end := func(l machine.Lease, o entry.Outcome) lease.Recorded {
		out, err := d.finish(t.Context(), []lease.End{{Key: lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}, Outcome: o}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	if r := end(take(), entry.Failed); !r.Is || r.Next != entry.Waits {
		t.Errorf("of a block that is not known: %+v", r)
	}
	killed := take()
	s.must(t, entry.Killed{Task: killed.Task, Low: killed.Job, High: killed.Job, Reason: "killed", GraceS: 1})
	s.outbox.await(t, 0)
	if r := end(killed, entry.Failed); !r.Is || r.Next != entry.Undone {
		t.Errorf("killed: %+v", r)
	}
	if err := d.View(t.Context(), func(v machine.View) {
		if v.Now.IsZero() {
			t.Error("the view has no time")
		}
	}); err != nil {
		t.Error(err)
	}
	again := take()
	if n, err := d.Return(t.Context(), nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if r := end(again, entry.Returned); r.Next != entry.Again {
		t.Errorf("%+v", r)
	}
	for _, step := range d.Steps() {
		if _, err := step.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", step.Name, err)
		}
	}
	cancel()
	all.Wait()
	if err := d.View(t.Context(), func(machine.View) {}); !errors.Is(err, ErrStopping) {
		t.Errorf("%v, want ErrStopping", err)
	}
}

// A step for which the machine has nothing runs now and then, for what others have left; one for which it has runs each time.
func TestIdleSteps(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	for _, busy := range []bool{false, true} {
		n := 0
		step := background{w.Dispatcher}.when(func(machine.View) bool { return busy }, func(context.Context) (int, error) { n++; return 1, nil })
		for range 4 {
			if _, err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 1, true: 4}[busy]; n != want {
			t.Errorf("busy %v: it ran %d times of 4, want %d", busy, n, want)
		}
	}
	if err := w.eye.view(t.Context(), func(v machine.View) {
		if waits(v) || reclaims(v) {
			t.Error("nothing waits, and no share takes units back")
		}
	}); err != nil {
		t.Fatal(err)
	}
}
