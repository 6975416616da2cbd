package generator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
)

func TestSubmit(t *testing.T) {
	w := newWorld(t)
	task := w.submit(t, managed(func(s *spec.Spec) { s.Campaign = "x"; s.Priority = 900 }))
	if task.State != "ready" || task.Share != "Prod/MC" || task.Jobs.Total != 10 || task.Priority != 900 || task.MaxAttempts != 3 {
		t.Errorf("submitted as %+v", task)
	}
	if by := task.TaggedBy; by.Rule == nil || *by.Rule != 1 || len(by.Later) != 1 || by.Later[0] != 2 {
		t.Errorf("tagged by %+v, want rule 1, later 2", task.TaggedBy)
	}
	if task.Spec == nil || task.Spec.Count != 10 || task.Spec.Requirements.Cores != 1 || task.CommittedAt == nil {
		t.Errorf("task %+v", task)
	}
}

func TestSubmitToTheShareThatTheTaskNames(t *testing.T) {
	w := newWorld(t)
	if task := w.submit(t, managed(func(s *spec.Spec) { s.Share = "Prod/Rep" })); task.Share != "Prod/Rep" || task.TaggedBy.Verdict != tags.Explicit {
		t.Errorf("task %+v", task)
	}
	for share, want := range map[string]string{"Prod": "not a leaf", "Prod/MD": `did you mean "Prod/MC"`} {
		_, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(func(s *spec.Spec) { s.Share = share })})
		if !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("share %s: %v, want %q", share, err, want)
		}
	}
	// A rule on a job attribute sends the jobs elsewhere; the task stays where it asked to be.
	task := w.submit(t, managed(func(s *spec.Spec) {
		s.Share, s.WorkingGroup, s.Requirements.Cores = "Test", "GP_WIDE", 8
	}))
	if task.Share != "Test" || task.JobShare != "Wide" {
		t.Errorf("share %q, job share %q", task.Share, task.JobShare)
	}
	steps(t, w.Generate)
	if path := jobs[string](t, w, "SELECT DISTINCT s.path FROM live_jobs j JOIN shares s ON s.id = j.share_id WHERE task_id = $1", task.ID); path != "Wide" {
		t.Errorf("jobs are in %s", path)
	}
}

func TestSubmitUntagged(t *testing.T) {
	w := newWorld(t)
	written := managed(func(s *spec.Spec) { s.WorkingGroup = "AP_X" })
	_, err := w.Submit(context.Background(), SubmitRequest{Spec: written})
	if !errors.Is(err, tags.ErrUntagged) || !strings.Contains(err.Error(), `working_group is "AP_X", not "GP_.*"`) {
		t.Errorf("rejected with %v", err)
	}
	w.apply(t, strings.Replace(siteYAML, "on_no_match: reject", "on_no_match: hold", 1))
	held := w.submit(t, written)
	if held.State != "waiting" || held.Share != "" || !strings.Contains(held.Reason, "closest is rule 2") {
		t.Errorf("held as %+v", held)
	}
	if n := steps(t, w.Generate) + steps(t, w.Sweep); n != 0 {
		t.Errorf("%d things done for a held task", n)
	}
	w.apply(t, strings.Replace(siteYAML, "GP_.*", ".P_.*", 1)) // a new version whose rule matches
	steps(t, w.Sweep)
	if got := w.task(t, held.ID); got.State != "ready" || got.Share != "Prod/MC" || got.Reason != "" {
		t.Errorf("after the new rule: %+v", got)
	}
	if n := steps(t, w.Generate); n != 10 {
		t.Errorf("%d jobs", n)
	}
}

func TestSubmitInvalid(t *testing.T) {
	w := newWorld(t)
	_, err := w.Submit(context.Background(), SubmitRequest{Spec: spec.Spec{Count: 1, Source: spec.Source{Inputs: spec.Named("a")}, Command: []string{"{{.What}}"}}})
	var faults spec.Faults
	if !errors.As(err, &faults) || len(faults) != 4 {
		t.Fatalf("faults: %v", err)
	}
	for i, field := range []string{"name", "user", "command[0]", "inputs"} {
		if faults[i].Field != field {
			t.Errorf("fault %d is about %s, want %s", i, faults[i].Field, field)
		}
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM tasks"); n != 0 {
		t.Errorf("%d tasks stored", n)
	}
}

func TestIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	var ids [8]int64
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			task, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(nil), IdempotencyKey: "k"})
			if err != nil {
				t.Error(err)
			}
			ids[i] = task.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == 0 {
			t.Errorf("ids %v", ids)
		}
	}
	_, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(func(s *spec.Spec) { s.Count = 11 }), IdempotencyKey: "k"})
	if !errors.Is(err, ErrKeyReused) {
		t.Errorf("another body: %v", err)
	}
	// A repeat is answered even when the task would be refused by now.
	w.apply(t, strings.Replace(siteYAML, "GP_.*", "XX_.*", -1))
	if task, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(nil), IdempotencyKey: "k"}); err != nil || task.ID != ids[0] {
		t.Errorf("repeat: %d, %v", task.ID, err)
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM tasks"); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

func TestTestTags(t *testing.T) {
	w := newWorld(t)
	st, err := w.store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wide := func(s *spec.Spec) {
		s.Share, s.WorkingGroup, s.Requirements = "Test", "GP_WIDE", spec.Requirements{Cores: 8, MemoryMB: 30000}
	}
	for _, c := range []struct {
		spec                     spec.Spec
		verdict, share, jobShare string
	}{
		{managed(nil), "matched", "Prod/MC", ""},
		{managed(wide), "explicit", "Test", "Wide"},
		{managed(func(s *spec.Spec) { s.Label = "none" }), "reject", "", ""},
		{managed(func(s *spec.Spec) { s.Share = "Prod" }), "invalid", "", ""},
	} {
		got := tags.Test(st, c.spec)
		if got.Verdict != c.verdict || got.Share != c.share || got.JobShare != c.jobShare {
			t.Errorf("%+v: %+v", c.spec, got)
		}
	}
	if got := tags.Test(st, managed(wide)).Attributes["resource_type"]; got != "MCORE_HIMEM" {
		t.Errorf("resource type %s", got)
	}
}

func TestTasksList(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.submit(t, managed(func(s *spec.Spec) {
			if i%2 == 0 {
				s.User, s.Label = "bob", "test"
			}
			s.Matrix, s.Count = []job.Axis{{Name: "a", Values: []string{"1", "2"}}}, 0
		}))
	}
	for _, c := range []struct {
		f    view.Filter
		want int
	}{
		{view.Filter{}, 5}, {view.Filter{User: "bob"}, 3}, {view.Filter{Share: "Prod"}, 2}, {view.Filter{Share: "Prod/MC"}, 2}, {view.Filter{Share: "Wide"}, 0},
		{view.Filter{Label: "test"}, 3}, {view.Filter{State: []string{"done", "ready"}}, 5}, {view.Filter{State: []string{"done"}}, 0}, {view.Filter{Limit: 4}, 4},
	} {
		tasks, _, err := w.Tasks(context.Background(), c.f)
		if err != nil || len(tasks) != c.want {
			t.Errorf("%+v: %d tasks, %v", c.f, len(tasks), err)
		}
	}
	if _, _, err := w.Tasks(context.Background(), view.Filter{Share: "Prod/MX"}); !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), `no share "Prod/MX"`) {
		t.Errorf("tasks of a share that is misspelt: %v", err)
	}
	tasks, next, _ := w.Tasks(context.Background(), view.Filter{Limit: 3})
	rest, end, _ := w.Tasks(context.Background(), view.Filter{Limit: 3, After: next})
	if len(tasks) != 3 || len(rest) != 2 || end != 0 || rest[0].ID <= tasks[2].ID {
		t.Errorf("pages of %d and %d, next %d and %d", len(tasks), len(rest), next, end)
	}
	if _, err := w.Task(context.Background(), 1<<40); !errors.Is(err, view.ErrNoTask) {
		t.Errorf("unknown task: %v", err)
	}
}

// What is wrong with claims is said of the field, at submission.
func TestSubmitRefusesSharing(t *testing.T) {
	w := newWorld(t)
	for field, sharing := range map[string][]spec.Sharing{
		"groups[0].sharing[0].only":    {{Template: "t", Scope: "all", Only: []string{}}},
		"groups[0].sharing[0].only[1]": {{Template: "t", Scope: "all", Only: []string{"a", "x"}}},
		"groups[0].sharing[1]":         {{Template: "t", Scope: "all"}, {Template: "t", Scope: "per_replica"}},
		"groups[0].sharing[2]":         {{Template: "t", Scope: "all"}, {Template: "t", Scope: "all", Only: []string{"b", "a"}}, {Template: "t", Scope: "all", Only: []string{"a", "b"}}},
		"groups[0].sharing[0].claim":   {{Claim: "a/b"}},
		"groups[0].sharing[0].scope":   {{Claim: "disk", Scope: "per_replica"}},
		"groups[0].sharing[0]":         {{Scope: "all"}},
	} {
		_, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(func(s *spec.Spec) {
			s.Count, s.Groups = 0, []spec.Group{{Name: "g", Members: []spec.Member{{Role: "a"}, {Role: "b"}}, Sharing: sharing}}
		})})
		var faults spec.Faults
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A task that asks for a resource that the site does not have is refused.
func TestSubmitUnknownResource(t *testing.T) {
	w := newWorld(t)
	_, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(func(s *spec.Spec) { s.Resources = map[string]int64{"maya": 1} })})
	var faults spec.Faults
	if !errors.As(err, &faults) || faults[0].Field != "resources" || !strings.Contains(faults[0].Message, "maya") {
		t.Error(err)
	}
}
