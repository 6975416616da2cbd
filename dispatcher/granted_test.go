package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// What daemons grant is known to each of them, and counted once.
func TestGrantedIsKnownToAll(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	f.enqueue(batch{share: "A", n: 20})
	one, other := f.daemon(), f.daemon()
	pulled := func(d *Dispatcher, n int) {
		t.Helper()
		for range n {
			if _, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, WaitS: 10}); err != nil {
				t.Fatal(err)
			}
		}
	}
	pulled(one, 7)
	eventually(t, "both know of seven", func() bool { return one.Granted() == 7 && other.Granted() == 7 })
	pulled(other, 3)
	eventually(t, "both know of ten", func() bool { return one.Granted() == 10 && other.Granted() == 10 })
}
