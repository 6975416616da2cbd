package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// What daemons grant, and what is made, is known to each of them, and counted once.
func TestTotalsAreKnownToAll(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	one, other := f.daemon(), f.daemon()
	pulled := func(d *Dispatcher, n int) {
		t.Helper()
		for range n {
			if _, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 10}); err != nil {
				t.Fatal(err)
			}
		}
	}
	known := func(what string, made, granted int64) {
		t.Helper()
		eventually(t, what, func() bool {
			for _, d := range []*Dispatcher{one, other} {
				if m, g := d.Totals(); m != made || g != granted {
					return false
				}
			}
			return true
		})
	}
	f.enqueue(batch{share: "A", n: 20})
	known("both know of 20 jobs", 20, 0)
	pulled(one, 7)
	known("both know of seven grants", 20, 7)
	f.enqueue(batch{share: "A", n: 5})
	pulled(other, 3)
	known("both know of ten", 25, 10)
}
