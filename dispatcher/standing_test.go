package dispatcher

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// The time until a share holds its target if nothing is reclaimed, before any reclaim is asked for, and as an
// explanation has it.
func TestOutlook(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1, node("B1", 1))}, slots("q", 10))
	d := f.daemon()
	f.exec("UPDATE daemons SET started_at = now() - interval '1 hour'")
	held := f.holding(d, "A", 10)
	f.asks(d, "B/B1", 8)
	waits := func() map[string]*float64 {
		out := map[string]*float64{}
		for _, s := range d.Outlook(t.Context()).Pools[0].Shares {
			out[s.Path] = s.AtTarget
		}
		return out
	}
	if w := waits(); w["A"] == nil || *w["A"] != 0 || w["B"] != nil || w["B/B1"] != nil {
		t.Errorf("nothing has ended: %v, want 0 for A only", w)
	}
	for i := range 2 {
		finish(t, d, Finished, held[i])
	}
	if w := waits(); w["B"] == nil || *w["B"] == 0 || w["B/B1"] == nil {
		t.Errorf("two units are free of five: %v", w)
	}
	for range 2 {
		pull1(t, d, "q")
	}
	// A holds 8, 3 too many, and ends twice in five minutes.
	w := waits()
	if w["A"] == nil || *w["A"] != 0 || w["B"] == nil || !near1(*w["B"], 450) || w["B/B1"] == nil || *w["B/B1"] != *w["B"] {
		t.Fatalf("%v, want 450 s for B and B1", w)
	}
	var waiting int64
	f.scan(&waiting, "SELECT max(id) FROM jobs WHERE state = 'ready'")
	e, err := d.Explain(t.Context(), waiting)
	if err != nil {
		t.Fatal(err)
	}
	if at := e.Pools[0].AtTarget; at == nil || !near1(*at, *w["B"]) {
		t.Errorf("an explanation says %v, the standing %v s", at, *w["B"])
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range d.Outlook(gone).Pools[0].Shares {
		if s.Path == "B" && (s.AtTarget != nil || s.Deficit != 3) {
			t.Errorf("without the database: %+v", s)
		}
	}
}

// A share has waited as long as the oldest of its jobs that are next in line, and a branch as long as the longest below it.
func TestOutlookHasWaits(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("A1", 1), node("A2", 1)), node("B", 1)}, slots("q", 10))
	d := f.daemon()
	for _, c := range []struct {
		share string
		ago   string
		cores int
	}{{"A/A1", "500 s", 1}, {"A/A1", "510 s", 2}, {"A/A2", "100 s", 1}} {
		ids := f.enqueue(batch{share: c.share, n: 3, cores: c.cores})
		f.exec("UPDATE jobs SET created_at = now() - $2::interval WHERE id = ANY ($1)", ids, c.ago)
	}
	waited := func(path string, want float64) bool {
		for _, s := range d.Outlook(t.Context()).Pools[0].Shares {
			if s.Path == path {
				return s.Waited == nil && want < 0 || s.Waited != nil && *s.Waited >= want && *s.Waited < want+90
			}
		}
		return false
	}
	all := func() {
		t.Helper()
		for path, want := range map[string]float64{"A/A1": 500, "A/A2": 100, "A": 500, "B": -1} {
			eventually(t, path+" has waited as long as its next job", func() bool { return waited(path, want) })
		}
	}
	all() // nobody has pulled: no job is in memory
	pull1(t, d, "q")
	pull1(t, d, "q")
	all()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range d.Outlook(gone).Pools[0].Shares {
		if s.Waited != nil {
			t.Errorf("without the database: %+v", s)
		}
	}
}
