package dispatcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

func TestShareStock(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("x", 1), node("y", 1)), node("B", 1)}, slots("q", 10), slots("r", 6))
	d := f.daemon()
	f.apply(func(v *shares.Version) {
		v.Queues[1].Locations, v.Queues[0].DenyShares = []string{"disk"}, []string{"B"}
	})
	f.enqueue(batch{share: "A/x", n: 3})
	f.enqueue(batch{share: "A/x", n: 2, cores: 2, need: job.Requirements{Locations: []string{"disk"}, Locality: job.LocalityRequired}})
	f.enqueue(batch{share: "A/x", n: 4, cores: 2, need: job.Requirements{Queues: []string{"nowhere"}}})
	f.enqueue(batch{share: "A/y", n: 1, need: job.Requirements{Queues: []string{"q"}}})
	refreshed(t, d)
	notToq := StockGap{Reason: "share: the queue denies B", Queues: []string{"q"}}
	all := []ShareStock{
		{Share: "A/x", Gaps: []StockGap{}, Sets: []QueueSet{{Queues: []string{}, Ready: 4}, {Queues: []string{"q", "r"}, Ready: 3, Startable: 16},
			{Queues: []string{"r"}, Ready: 2, Startable: 3}}},
		{Share: "A/y", Sets: []QueueSet{{Queues: []string{"q"}, Ready: 1, Startable: 10}}, Gaps: []StockGap{{Reason: "not among the task's queues", Queues: []string{"r"}}}},
		{Share: "B", Sets: []QueueSet{}, Gaps: []StockGap{notToq, {Reason: "no jobs", Queues: []string{"r"}}}},
	}
	if diff := cmp.Diff(all, d.ShareStock("", "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all[:2], d.ShareStock("A", "")); diff != "" {
		t.Error(diff)
	}
	q := d.ShareStock("", "q")
	if len(q[0].Sets) != 1 || len(q[0].Gaps) != 0 || len(q[1].Gaps) != 0 || cmp.Diff([]StockGap{notToq}, q[2].Gaps) != "" {
		t.Errorf("at q: %+v", q)
	}
}

func TestTaskQueues(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("near", 10), slots("far", 10), slots("closed", 10))
	d := f.daemon()
	f.apply(func(v *shares.Version) {
		v.Queues[0].Locations, v.Queues[2].AllowShares = []string{"disk"}, []string{"B"}
	})
	f.enqueue(batch{share: "A", n: 3, need: job.Requirements{Locations: []string{"disk"}, Locality: job.LocalityPreferred}})
	refreshed(t, d)
	got, err := d.TaskQueues(t.Context(), f.tasks)
	if err != nil || len(got) != 1 || got[0].Share != "A" || got[0].Jobs != 3 || got[0].ToCome != 0 || got[0].Needs.Locality != job.LocalityPreferred {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []QueueFit{{Queue: "near", Pool: "default", State: shares.Online, Runs: true}, {Queue: "far", Pool: "default", State: shares.Online, Runs: true, Remote: true},
		{Queue: "closed", Pool: "default", State: shares.Online, Reason: "share: the queue allows only B"}}
	if diff := cmp.Diff(want, got[0].Queues); diff != "" {
		t.Error(diff)
	}
	if none, err := d.TaskQueues(t.Context(), 99); err != nil || len(none) != 0 {
		t.Errorf("of no task: %v, %v", none, err)
	}
}
