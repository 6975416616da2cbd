package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// order is the order of making, in words.
func (w *world) order(coming ...Coming) string {
	var paths []string
	for _, id := range Order(w.m.View(), coming) {
		paths = append(paths, w.path(id))
	}
	return strings.Join(paths, " ")
}

// Order is that of the grants to come, with shares of which the machine does not know that they have some to come.
func TestOrderOfMaking(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1), node("B", 3), node("P", 7, node("x", 2), node("y", 1)), node("Z", 50)}, slots("q", 40))
	w.enqueue("Z", 1, 3, job.Requirements{})
	var coming []Coming
	for _, path := range []string{"A", "B", "P/x", "P/y", "Z"} {
		coming = append(coming, Coming{w.share(path), 1, 100})
	}
	if got := w.order(coming...); got != "P/x B A P/y" { // Z has a ready job
		t.Error(got)
	}
	if got := w.order(append(coming, Coming{w.share("A"), 99, 1}, Coming{99, 1, 1}, Coming{w.share("P"), 1, 1})...); got != "P/x B A P/y" {
		t.Errorf("with what nobody knows: %s", got)
	}
}

// No pool waits until all that another one lacks is made.
func TestOrderOfPools(t *testing.T) {
	q, g := slots("q", 40), slots("g", 40)
	q.AllowShares, g.AllowShares, g.Pool = []string{"A", "B", "C"}, []string{"D", "E"}, "gpu"
	w := newWorld(t, []shares.Spec{node("A", 3), node("B", 2), node("C", 1), node("D", 2), node("E", 1), node("Z", 1)}, q, g)
	w.enqueue("Z", 1, 3, job.Requirements{})
	for _, path := range []string{"A", "B", "C", "D", "E"} {
		w.say(entry.Expected{Share: w.share(path), Shape: 1, Jobs: 10})
	}
	if got := w.order(); got != "A D B E C" {
		t.Errorf("order %s, want A D B E C", got)
	}
	w.say(entry.Expected{Share: w.share("E"), Shape: 1})
	if got := w.order(); got != "A D B C" {
		t.Errorf("order %s, want A D B C", got)
	}
	// Jobs that the same slots run count as one kind, whatever resources they need; one that is ready will do.
	w.enqueue("A", 1, 3, job.Requirements{Resources: map[string]int64{"licence": 1}, SharingID: "ann"})
	if got := w.order(); got != "B D C" {
		t.Errorf("order %s, want B D C", got)
	}
}

func TestEndRates(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.enqueue("A", 40, 3, job.Requirements{})
	for range 30 {
		w.end(w.must("q"), entry.Finished, "")
	}
	w.fold()
	got, err := EndRates(t.Context(), w.pool)
	if want := []explain.EndRate{{Queue: 1, Share: w.share("A"), PerSecond: 0.1, UnitsPerS: 100}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
