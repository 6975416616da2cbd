package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

func TestPreferredLocality(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("near", 10), slots("far", 10))
	d := f.daemon()
	need := job.Requirements{Locations: []string{"disk"}, Locality: job.LocalityPreferred}
	f.apply(func(v *shares.Version) { v.Queues[0].Locations = []string{"disk"} })
	picky := f.enqueue(batch{share: "A", n: 3, need: need})
	urgent := f.enqueue(batch{share: "A", n: 1, need: need, priority: 1})
	plain := f.enqueue(batch{share: "A", n: 2})
	refreshed(t, d)
	for i, want := range []struct {
		queue string
		job   int64
	}{
		{"far", urgent[0]}, {"far", plain[0]}, {"near", picky[0]}, {"far", plain[1]}, {"far", picky[1]}, // no slot is left idle
	} {
		if got := pull1(t, d, want.queue); got.Job != want.job {
			t.Fatalf("pull %d at %s: job %d, want %d", i, want.queue, got.Job, want.job)
		}
	}
	younger := f.enqueue(batch{share: "A", n: 2})
	f.apply(func(v *shares.Version) { v.Queues[1].Locations = []string{"disk"} })
	refreshed(t, d)
	if got := pull1(t, d, "far"); got.Job != picky[2] {
		t.Errorf("once the queue is near: job %d, want %d before %v", got.Job, picky[2], younger)
	}
	f.recount()
}

// A remote job waits for the younger ones that are local for as long as it may, and not longer.
func TestRemoteForATime(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("far", 10))
	d := f.daemon(Timing{LocalWait: 50 * time.Millisecond})
	old := f.enqueue(batch{share: "A", n: 1, need: job.Requirements{Locations: []string{"disk"}, Locality: job.LocalityPreferred}})
	eventually(t, "the job is elder", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.state.elders.upTo >= old[0]
	})
	f.enqueue(batch{share: "A", n: 1})
	refreshed(t, d)
	if got := pull1(t, d, "far"); got.Job != old[0] {
		t.Errorf("job %d, want the older one %d", got.Job, old[0])
	}
}

// refreshed has a daemon read all that is committed.
func refreshed(t *testing.T, d *Dispatcher) {
	t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = d.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestElders(t *testing.T) {
	var e elders
	start := time.Now()
	for s := range 30 {
		e.saw(int64(100 + s))
		e.look(start.Add(time.Duration(s)*time.Second), 8*time.Second)
		if want := int64(100 + s - 8); s >= 8 && e.upTo != want || s < 8 && e.upTo != 0 {
			t.Errorf("after %d s jobs up to %d are elder, want %d", s, e.upTo, want)
		}
	}
	if len(e.marks) > marksKept {
		t.Errorf("%d marks", len(e.marks))
	}
}

func TestSharePolicy(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("x", 1), node("y", 1)), node("B", 1)}, slots("open", 4), slots("q", 10))
	d := f.daemon()
	f.apply(func(v *shares.Version) {
		v.Queues[1].AllowShares, v.Queues[1].DenyShares = []string{"A"}, []string{"A/y"}
	})
	for _, share := range []string{"A/x", "A/y", "B"} {
		f.enqueue(batch{share: share, n: 4})
	}
	refreshed(t, d)
	if got := pullAll(t, d, "q"); len(got) != 4 {
		t.Errorf("%d leases, want the four of A/x", len(got))
	}
	if held := f.heldBy(); held["A/x"] != 4 {
		t.Errorf("held %v", held)
	}
	jobs, _, err := d.TaskJobs(t.Context(), JobFilter{Task: 3})
	if err != nil || len(jobs) != 4 || jobs[0].Reason != "" {
		t.Fatalf("%v, %v; the other queue can run them", jobs, err)
	}
	e, err := d.Explain(t.Context(), jobs[0].ID)
	if err != nil || e.Queues[1].Gate != GateStructural || e.Queues[1].Reason != "share: the queue allows only A" {
		t.Errorf("%+v, %v", e.Queues, err)
	}
	f.apply(func(v *shares.Version) { v.Queues[0].DenyShares = []string{"B"} })
	want := "no queue can run it; open: share: the queue denies B; q: share: the queue allows only A"
	eventually(t, "nobody runs B: "+want, func() bool {
		jobs, _, err := d.TaskJobs(t.Context(), JobFilter{Task: 3})
		return err == nil && jobs[0].Reason == want
	})
	for _, c := range d.Counts() {
		if c.Share == "B" && len(c.Queues) != 0 || c.Share == "A/y" && (len(c.Queues) != 1 || c.Queues[0] != "open") {
			t.Errorf("count %+v", c)
		}
	}
	f.apply(func(v *shares.Version) { v.Queues[1].AllowShares = nil })
	refreshed(t, d)
	if got := pullAll(t, d, "q"); len(got) != 4 || f.heldBy()["B"] != 4 {
		t.Errorf("%d leases, want those of B; %v", len(got), f.heldBy())
	}
	f.recount()
}
