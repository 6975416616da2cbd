package generator

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// disagg is case G1 of sharing.md §5, but for its claims of resources.
func disagg(s *spec.Spec) {
	s.Count, s.Replicas, s.Command = 0, 2, []string{"serve", "{{.Input}}"}
	s.Groups = []spec.Group{{Name: "sgx", Replicas: 2,
		Members: []spec.Member{{Role: "pca", Count: 3}, {Role: "pcb", Count: 2, Command: []string{"decode"}, Requirements: &spec.Requirements{Cores: 2}}},
		Sharing: []spec.Sharing{{Template: "gpu-pool", Scope: "per_replica"}}}}
	s.Roles = []spec.Member{{Role: "metrics", Count: 2, Sharing: []spec.Sharing{{Template: "metrics-gpu", Scope: "all"}}}}
	s.ClaimTemplates = []spec.ClaimTemplate{{Name: "gpu-pool", Devices: map[string]int{"gpu": 4}}}
}

// G1: all 24 jobs run, on two nodes of nine GPUs, with 18 of them in six claims; each runs what its role says.
func TestGroupsAreRun(t *testing.T) {
	w := newWorld(t)
	w.apply(t, siteYAML+"claim_templates: [{name: metrics-gpu, devices: {gpu: 1}}]\n")
	d := w.dispatch(t)
	id := w.submit(t, managed(disagg)).ID
	if n := steps(t, w.Generate); n != 24 {
		t.Fatalf("%d jobs", n)
	}
	gpus := strings.Split("gpu:0 gpu:1 gpu:2 gpu:3 gpu:4 gpu:5 gpu:6 gpu:7 gpu:8", " ")
	var leases []dispatcher.Lease
	for k := 0; len(leases) < 24; k++ {
		node := []string{"n1", "n2"}[k%2]
		reply, err := d.Pull(context.Background(), dispatcher.PullRequest{Queue: "CERN", Pilot: "p" + node, Node: node, Devices: gpus, Slot: job.Slot{Cores: 2}, WaitS: 1})
		if err != nil && k > 200 {
			t.Fatalf("%d leases: %v", len(leases), err)
		}
		leases = append(leases, reply.Leases...)
	}
	places := map[string]map[string]bool{} // of each claim's jobs
	for _, l := range leases {
		name := one[[]string](t, w.db, "SELECT inputs FROM jobs WHERE id = $1", l.Job)[0]
		want := []string{"serve", name}
		if strings.Contains(name, "pcb") {
			want = []string{"decode"}
		}
		if !slices.Equal(l.Command, want) || (l.Cores == 2) != strings.Contains(name, "pcb") {
			t.Errorf("%s: %v %d", name, l.Command, l.Cores)
		}
		claim := strings.Join(strings.Split(name, "/")[:2], "/")
		at := l.Env["DIVVY_CLAIM_METRICS_GPU_NODE"] + " " + l.Env["DIVVY_CLAIM_METRICS_GPU_DEVICES"]
		if strings.Contains(name, "sgx") {
			claim, at = strings.Join(strings.Split(name, "/")[:3], "/"), l.Env["DIVVY_CLAIM_GPU_POOL_NODE"]+" "+l.Env["DIVVY_CLAIM_GPU_POOL_DEVICES"]
		}
		if places[claim] == nil {
			places[claim] = map[string]bool{}
		}
		places[claim][at] = true
	}
	if len(places) != 6 {
		t.Errorf("claims %v", slices.Sorted(maps.Keys(places)))
	}
	for claim, at := range places {
		if len(at) != 1 {
			t.Errorf("%s is at %v", claim, at)
		}
	}
	w.fold(t)
	if n := one[int](t, w.db, "SELECT coalesce(sum(cardinality(devices)), 0) FROM claims WHERE state IN ('bound', 'draining')"); n != 18 {
		t.Errorf("%d devices taken", n)
	}
	for _, l := range leases {
		if _, err := d.Finish(context.Background(), dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{{Lease: l.Lease, Outcome: dispatcher.Finished}}}); err != nil {
			t.Error(err)
		}
	}
	steps(t, w.Settle)
	if got := w.task(t, id); got.Jobs.Finished != 24 || got.Jobs.Failed != 0 {
		t.Errorf("%+v", got)
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM claims WHERE state <> 'released'"); n != 0 {
		t.Errorf("%d claims are left", n)
	}
}

// A task keeps the templates of the site as they were when it was submitted; its own go before them.
func TestTemplatesOfTheSite(t *testing.T) {
	site := []shares.ClaimTemplate{{Name: "a", Node: true, Linger: 5}, {Name: "b", Node: true}, {Name: "c", Node: true}}
	s := spec.Spec{Structure: spec.Structure{Roles: []spec.Member{{Role: "r"}}, ClaimTemplates: []spec.ClaimTemplate{{Name: "b", Devices: map[string]int{"gpu": 1}}},
		Sharing: []spec.Sharing{{Template: "a", Scope: "all"}, {Template: "b", Scope: "all"}}}}
	got, err := s.WithTemplates(site)
	if err != nil || len(got.ClaimTemplates) != 2 || got.ClaimTemplates[0].Devices["gpu"] != 1 || got.ClaimTemplates[1].Name != "a" ||
		got.Layout().Templates[1].Linger != 5 || len(s.ClaimTemplates) != 1 {
		t.Errorf("%v %+v", err, got.ClaimTemplates)
	}
}
