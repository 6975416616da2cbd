package dispatcher

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A floor of a class brings jobs of that class forward as long as there are units of what they ask for, and keeps nobody back
// when there are none.
func TestFloorOfJobsThatAskForResources(t *testing.T) {
	for name, perQueue := range map[string]bool{"of all": false, "per queue": true} {
		t.Run(name, func(t *testing.T) {
			r := units("maya", 2)
			r.PerQueue = perQueue
			f := newFixture(t, []shares.Spec{node("A", 1), node("B", 20)}, slots("q", 40))
			f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{r} })
			d := f.daemon()
			others := f.enqueue(batch{share: "B", n: 40})
			f.enqueue(batch{share: "A", n: 10})
			f.enqueue(batch{share: "A", n: 5, need: job.Requirements{MemoryMB: 64_000, Resources: maya, SharingID: "alice"}})
			f.target(d, "A", TargetSlots{Queue: "q", Class: "SCORE_HIMEM", Slots: 4, Floor: true})
			f.refreshed(d)
			b, err := d.Explain(t.Context(), others[0])
			if at := gateAt(b, "q"); err != nil || at.Gate != GateShare || !strings.Contains(at.Reason, "the queue's floor for SCORE_HIMEM jobs of A is 4, of which 0 are held") {
				t.Errorf("%+v, %v; want that A comes first at q", at, err)
			}
			got, leases := order(t, d, 6)
			if got != "AABBBB" || leases[0].MemoryMB != 64_000 || leases[1].MemoryMB != 64_000 {
				t.Errorf("%s, want two of A with much memory, as there are units, then B", got)
			}
			finish(t, d, Finished, leases[0])
			if got, next := order(t, d, 2); got != "AB" || next[0].MemoryMB != 64_000 {
				t.Errorf("%s, want the job of A for which there is a unit again", got)
			}
			f.recount()
		})
	}
}

// Caps of a class count jobs that ask for resources, whoever they are of, and bound what their share wants.
func TestTargetSlotsAndResources(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 40))
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("maya", 9)} })
	d := f.daemon()
	for _, user := range []string{"alice", "bob", "carol"} {
		f.enqueue(batch{share: "A", n: 10, need: job.Requirements{MemoryMB: 64_000, Resources: maya, SharingID: user}})
	}
	f.enqueue(batch{share: "A", n: 3})
	f.enqueue(batch{share: "B", n: 50})
	f.target(d, "A", TargetSlots{Queue: "q", Class: "SCORE_HIMEM", Slots: 6})
	f.refreshed(d)
	n := map[string]int{}
	for _, l := range takeAll(t, d, "q") {
		if l.MemoryMB == 64_000 {
			n["much memory"]++
		} else {
			n[l.Share]++
		}
	}
	if n["much memory"] != 6 || n["A"] != 3 || n["B"] != 31 {
		t.Errorf("%v, want 6 with much memory, 3 of A, 31 of B", n)
	}
	f.holds("held", map[string]int{"alice": 3, "bob": 3, "": 34})
	f.recount()
}
