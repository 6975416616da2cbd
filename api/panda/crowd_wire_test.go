package panda

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// submitAs makes a task of n jobs out of parts of a specification and waits until all of them are ready.
func (w *world) submitAs(n int64, s spec.Spec) view.Task {
	w.t.Helper()
	s.Count, s.MaxAttempts, s.Command, s.Name, s.Share = n, 1, []string{"true"}, "crowd", "Prod"
	task, err := w.generator.Submissions().Submit(context.Background(), generator.SubmitRequest{Spec: s})
	if err != nil {
		w.t.Fatal(err)
	}
	w.until("all jobs are ready", func() bool {
		got, err := w.known.Task(context.Background(), task.ID)
		return err == nil && got.Jobs.Ready == n
	})
	return task
}

// rush lets pilots ask at the same moment: all get a job, and no two the same one.
func rush(t *testing.T, pilots []*fakePilot) {
	t.Helper()
	got := make([]bool, len(pilots))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, p := range pilots {
		all.Go(func() {
			<-start
			got[i] = p.getJob()
		})
	}
	close(start)
	all.Wait()
	jobs := map[int64]bool{}
	for i, p := range pilots {
		if !got[i] {
			t.Fatalf("no job for %s %+v: %v", p.node, p.asks, p.job)
		}
		jobs[p.id()] = true
	}
	if len(jobs) != len(pilots) {
		t.Errorf("%d pilots got %d jobs", len(pilots), len(jobs))
	}
}

// Pilots of both generations that ask at the same moment with the same filter, while as many jobs pass it as they are, all
// get one of these jobs: for each filter, and for all of them together. Jobs that do not pass it stand before them.
func TestCrowdWithFilters(t *testing.T) {
	n := int64(min(pgtest.Draws(500), 500))
	world := newWorld(t)
	small := spec.Requirements{MemoryMB: 2000, DiskMB: 10000, Walltime: 3600}
	for name, c := range map[string]struct {
		wanted, other spec.Spec
		old, new      map[string]any // what pilots of either generation say; the task's id is filled in
	}{
		"task": {spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}}, spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Priority: 9},
			map[string]any{"taskID": nil}, map[string]any{"task_id": nil}},
		"user": {spec.Spec{User: "bob", Kind: spec.Kind{Label: "managed"}}, spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Priority: 9},
			map[string]any{"prodUserID": "bob"}, map[string]any{"prod_user_id": "bob"}},
		"label": {spec.Spec{User: "alice", Kind: spec.Kind{Label: "panda"}}, spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Priority: 9},
			map[string]any{"prodSourceLabel": "user"}, map[string]any{"prod_source_label": "user"}},
		"size": {spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Requirements: small},
			spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Priority: 9, Requirements: spec.Requirements{MemoryMB: 2000, DiskMB: 10000, Walltime: 36000}},
			map[string]any{"mem": 2500.5, "diskSpace": 12000, "remaining_time": 4000}, map[string]any{"memory": 2500, "disk_space": 12000, "remaining_time": 4000}},
		"cores": {spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}}, spec.Spec{User: "alice", Kind: spec.Kind{Label: "managed"}, Priority: 9, Requirements: spec.Requirements{Cores: 8}},
			map[string]any{"resourceType": "SCORE"}, map[string]any{"resource_type": "SCORE"}},
		"all": {spec.Spec{User: "bob", Kind: spec.Kind{Label: "user"}, Requirements: small}, spec.Spec{User: "bob", Kind: spec.Kind{Label: "user"}, Priority: 9, Requirements: small},
			map[string]any{"taskID": nil, "prodUserID": "bob", "prodSourceLabel": "user", "mem": 2500, "diskSpace": 12000, "remaining_time": 4000, "resourceType": "SCORE"},
			map[string]any{"task_id": nil, "prod_user_id": "bob", "prod_source_label": "user", "memory": 2500, "disk_space": 12000, "remaining_time": 4000, "resource_type": "SCORE"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.in(t)
			other := w.submitAs(50, c.other)
			task := w.submitAs(n, c.wanted)
			for _, asks := range []map[string]any{c.old, c.new} {
				for key, v := range asks {
					if v == nil {
						asks[key] = strconv.FormatInt(task.ID, 10) // pilots send it as text
					}
				}
			}
			pilots := make([]*fakePilot, n)
			for i := range pilots {
				pilots[i] = &fakePilot{t: t, url: w.url, new: i%2 == 1, node: fmt.Sprintf("vm%d", i), asks: c.old}
				if pilots[i].new {
					pilots[i].asks = c.new
				}
			}
			rush(t, pilots)
			for _, p := range pilots {
				if int64(p.job["taskID"].(float64)) != task.ID {
					t.Fatalf("%+v got %v", p.asks, p.job)
				}
			}
			for _, of := range []int64{other.ID, task.ID} { // the next pilots may want such jobs
				if _, err := w.generator.Verbs().Say(t.Context(), generator.VerbKill, of, nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
