package generator

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// G1 with its claims of resources: 24 jobs hold nine claims, with 18 units of gpu, charged once each to the task's sharing ID. One
// of the templates comes only when the task is there.
func TestGroupsHoldUnits(t *testing.T) {
	w := newWorld(t)
	resources := "resources: [{name: gpu, capacity: 20}, {name: seat, capacity: 5}]\n"
	w.apply(t, siteYAML+resources)
	d := w.dispatch(t)
	w.submit(t, managed(func(s *spec.Spec) {
		disagg(s)
		s.SharingID = "team"
		s.ClaimTemplates = []spec.ClaimTemplate{{Name: "res1", Resources: map[string]int64{"seat": 1}}, {Name: "res2", Node: true},
			{Name: "gpu-pool", Resources: map[string]int64{"gpu": 4}, Node: true}}
		s.Sharing = []spec.Sharing{{Template: "res1", Scope: "all"}, {Template: "res2", Scope: "per_replica"}}
	}))
	if n := steps(t, w.Generate); n != 24 {
		t.Fatalf("%d jobs", n)
	}
	var leases []dispatcher.Lease
	pull := func(want int) {
		t.Helper()
		for k := 0; len(leases) < want; k++ {
			node := []string{"n1", "n2"}[k%2]
			reply, err := d.Pull(context.Background(), dispatcher.PullRequest{Queue: "CERN", Pilot: "p" + node, Node: node, Slot: job.Slot{Cores: 2}, WaitS: 1})
			if err != nil && k > 200 {
				t.Fatalf("%d leases: %v", len(leases), err)
			}
			leases = append(leases, reply.Leases...)
		}
	}
	held := func(name string, want int64) {
		t.Helper()
		st, err := d.Resources(context.Background(), name)
		if err != nil || len(st) != 1 || st[0].Held != want || want > 0 && (len(st[0].IDs) != 1 || st[0].IDs[0].ID != "team" || st[0].IDs[0].Held != want) {
			t.Fatalf("%+v %v, want %d held", st, err, want)
		}
	}
	pull(20)
	held("gpu", 16)
	held("seat", 1)
	w.apply(t, siteYAML+resources+"claim_templates: [{name: metrics-gpu, resources: {gpu: 1}, node: true}]\n")
	pull(24)
	held("gpu", 18)
	held("seat", 1)
	w.fold(t)
	if n := one[int](t, w.db, "SELECT count(*)::int FROM claims WHERE state = 'bound'"); n != 9 {
		t.Errorf("%d claims are bound", n)
	}
	for _, l := range leases {
		if _, err := d.Finish(context.Background(), dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{{Lease: l.Lease, Outcome: dispatcher.Finished}}}); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitClaims(t, d, "")
	held("gpu", 0)
	held("seat", 0)
}
