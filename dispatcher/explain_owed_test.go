package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// A share that is owed units comes before its turn, and explain says so: to who waits for it meanwhile, and of the decision,
// whose deficits are those of the level at which the paths part.
func TestExplainOwed(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("X", 1, asking(node("1", 1), shares.Reclaim{Grace: grace, Scope: "leaf"}), node("2", 1)), node("Y", 99)},
		slots("q", 40))
	d := f.daemon()
	f.asks(d, "X/1", 10)
	y := f.enqueue(batch{share: "Y", n: 10})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.state.owe(map[retry.Claimer]shares.Units{{Pool: "default", Share: f.shareID("X/1")}: 1000}, time.Now())
	d.mu.Unlock()
	e, err := d.Explain(t.Context(), y[0])
	if err != nil || e.Gate != GateShare || !strings.Contains(e.Summary, "X comes first: ") || !strings.Contains(e.Summary, "units were reclaimed for the first") {
		t.Errorf("%s: %s, %v; want that X is owed units", e.Gate, e.Summary, err)
	}
	first := e.Queues[0].First
	l := pull1(t, d, "q")
	if l.Share != "X/1" {
		t.Fatalf("a job of %s, want X/1", l.Share)
	}
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, err = d.Explain(t.Context(), l.Job); err != nil || !e.Decision.Recorded {
		t.Fatalf("%+v, %v", e, err)
	}
	top := e.Decision.Levels[0]
	if top.Share != "X" || top.RunnerUp != "Y" || !close3(*top.Deficit, first.Deficit) || *top.Deficit >= *top.RunnerUpDeficit {
		t.Errorf("%+v, want X with %v before Y with more", top, first.Deficit)
	}
	if !strings.Contains(e.Summary, "X came before its turn, for units that were reclaimed for it; Y was further below its target") {
		t.Error(e.Summary)
	}
	if e, err = d.Explain(t.Context(), y[0]); err != nil || e.Gate != GateNone {
		t.Errorf("afterwards %s: %s, %v; want nothing in its way", e.Gate, e.Summary, err)
	}
}
