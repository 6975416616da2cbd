package dispatcher

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// A job that is read before its row of the ledger is counted as demand of its share before any decision sees it: else one of
// another share came first, for whom there is less than it.
func TestJobsAreCountedBeforeTheyAreGiven(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d, err := Open(context.Background(), Config{Pool: f.pool, Load: f.load})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	f.enqueue(batch{share: "A", n: 1})
	if _, err := d.Refresh(context.Background()); err != nil { // nobody else does it in this test
		t.Fatal(err)
	}
	f.enqueue(batch{share: "A", n: 2})
	for _, w := range d.state.windows {
		w.filling = true
		d.fill(w)
		if len(w.jobs) != 3 || w.ready != 3 {
			t.Errorf("the window has %d jobs, %d count as ready; want 3", len(w.jobs), w.ready)
		}
	}
}
