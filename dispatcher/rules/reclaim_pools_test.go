package rules

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// What a claimer takes in another pool is not what was taken back for it: that is owed still.
func TestReclaimedIsTakenInItsPool(t *testing.T) {
	other := slots("r", 4)
	other.Pool = "other"
	w := newWorld(t, []shares.Spec{node("A", 1), asker(node("B", 1), shares.Reclaim{Grace: grace, Scope: "leaf"})}, slots("q", 4), other)
	w.holding("A", 4)
	w.asks("B", 8)
	orders := w.reclaim()
	if len(orders) != 2 {
		t.Fatalf("%d orders, want 2", len(orders))
	}
	w.obey(orders)
	for n := 0; n < 2; { // A's are ready again, and some of them may go first
		if l := w.must("r"); w.path(l.Share) == "B" {
			n++
		}
	}
	w.fold()
	if _, err := w.rules.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.take() {
		if o, ok := e.(entry.Owed); ok {
			t.Errorf("%d units are owed from now on, want 2000 as before: none was taken at q", o.Units)
		}
	}
	for range 2 {
		if l := w.must("q"); w.path(l.Share) != "B" {
			t.Errorf("%s takes what was taken back for B", w.path(l.Share))
		}
	}
}

// An order is about the share that its lease counts for now, whichever it was granted for: who is given two of three is not given the third.
func TestReclaimOfLeasesThatMoved(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1), asker(node("B", 4), shares.Reclaim{Grace: grace})}, slots("q", 3))
	w.holding("B", 3)
	for _, l := range w.leases {
		w.say(entry.Moved{Task: l.Task, Low: l.Job, High: l.Job, Share: w.share("A"), Running: true})
	}
	w.asks("B", 3)
	if orders := w.reclaim(); len(orders) != 2 {
		t.Fatalf("%d orders, want 2", len(orders))
	}
	if orders := w.reclaim(); len(orders) != 0 {
		t.Errorf("%d orders more, want none: two are on their way", len(orders))
	}
}
