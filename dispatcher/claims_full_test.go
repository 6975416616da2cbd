package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// crowd is n jobs of a claim that two at a time may hold.
func crowd(n int) resource.Layout {
	return resource.Layout{Replicas: 1, Templates: []shares.ClaimTemplate{{Name: "pair", Node: true, MaxSharers: 2, Linger: time.Minute}},
		Roles: []resource.Role{{Name: "r", Count: n, Sharing: []resource.Sharing{{Template: "pair", Scope: resource.All}}}}}
}

// A claim that has all its sharers keeps the others waiting, who take their places one by one, and cost nothing meanwhile.
func TestClaimIsFull(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 1000))
	d := f.daemon()
	f.tending(d)
	const n = 150
	f.enqueueLayout("A", crowd(n))
	held := []Lease{pullAt(t, d, slotAt("q", "n1")), pullAt(t, d, slotAt("q", "n1"))}
	noneAt(t, d, slotAt("q", "n1"))
	noneAt(t, d, slotAt("q", "n2"))
	eventually(t, "all jobs have the shape of where they may run", func() bool {
		var unplaced int
		f.scan(&unplaced, "SELECT count(*) FROM resource_claims WHERE unplaced")
		return unplaced == 0
	})
	noneAt(t, d, slotAt("q", "n1"))
	for range 30 {
		if _, err := d.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		for _, w := range d.state.windows {
			if w.ready > 0 && (len(w.behind)+len(w.reading)+len(w.doubt)+len(w.jobs) > 0 || w.filling || w.parked != 1 || !w.end) {
				t.Errorf("%d jobs, %d spans and %d doubts of %d ready: somebody looks at them", len(w.jobs), len(w.behind), len(w.doubt), w.ready)
			}
		}
		d.mu.Unlock()
	}
	for range n - 2 {
		finish(t, d, Finished, held[0])
		held = append(held[1:], pullAt(t, d, slotAt("q", "n1")))
	}
	f.recountClaims()
	finish(t, d, Finished, held...)
	noneAt(t, d, slotAt("q", "n1"))
	d.mu.Lock()
	if len(d.state.claims.parked) > 0 {
		t.Errorf("%d claims have jobs that wait", len(d.state.claims.parked))
	}
	d.mu.Unlock()
	f.recount()
}

// Two daemons share out the places of a claim; none of them gives more than there are.
func TestFullClaimOfTwoDaemons(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 1000))
	ds := []*Dispatcher{f.daemon(), f.daemon()}
	f.tending(ds...)
	f.enqueueLayout("A", crowd(40))
	done := make(chan struct{})
	for i := range 4 {
		go func() { f.work(ds[i%2], slotAt("q", fmt.Sprint("n", i%2))); done <- struct{}{} }()
	}
	for range 4 {
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
			var most int
			if f.scan(&most, "SELECT coalesce(max(sharers), 0) FROM resource_claims"); most > 2 {
				t.Fatalf("%d hold it", most)
			}
		}
	}
	f.recountClaims()
	f.recount()
}
