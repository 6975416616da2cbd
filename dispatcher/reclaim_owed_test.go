package dispatcher

import (
	"errors"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// What a share is owed it has been given only when the grant has committed: what is taken back is owed as before, also
// where all that is owed was said anew meanwhile.
func TestOwedUnitsComeBack(t *testing.T) {
	for name, anew := range map[string]bool{"as it was": false, "said anew": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{asking(node("A", 1), shares.Reclaim{Grace: grace, Scope: "leaf"}), node("B", 99)}, slots("q", 40))
			f.enqueue(batch{share: "A", n: 10})
			f.enqueue(batch{share: "B", n: 10})
			d := f.open()
			owe := func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.state.owe(map[retry.Claimer]shares.Units{{Pool: "default", Share: f.shareID("A")}: 2000}, time.Now())
			}
			owe()
			lost := decided(t, d, 1)
			if anew {
				owe()
			}
			d.failBatch(lost, errors.New("the database is away"))
			var to []string
			b := decided(t, d, 3)
			for _, p := range b.pulls {
				to = append(to, p.grants[0].share)
			}
			if to[0] != "A" || to[1] != "A" || to[2] != "B" {
				t.Errorf("%v, want A twice, and then B", to)
			}
			d.lease(t.Context(), d.lane(firstGrantLane), b)
			f.agrees(d)
			f.recount()
		})
	}
}
