package generator

import (
	"errors"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

var smallSite = strings.Replace(siteYAML, "slots: 2000", "slots: 2000, cores: 8, walltime: 48h", 1)

// What no queue can run is said with the task, in every list, from its submission on until a queue can; strict refuses it.
func TestCannotRun(t *testing.T) {
	w := newWorld(t)
	w.apply(t, smallSite)
	wide := managed(func(s *spec.Spec) { s.Requirements.Cores = 64 })
	misspelt := managed(func(s *spec.Spec) { s.Queues = []string{"CREN"} })
	for want, written := range map[string]spec.Spec{"cores: needs 64": wide, "queues: none is meant by CREN": misspelt} {
		task := w.submit(t, written)
		if !strings.Contains(task.CannotRun, want) || task.State != "ready" {
			t.Errorf("%+v, want %q", task, want)
		}
		for name, f := range map[string]view.Filter{"by id": {After: task.ID - 1, Limit: 1}, "newest": {Newest: true, After: task.ID + 1, Limit: 1}, "of the user": {Newest: true, User: written.User, After: task.ID + 1, Limit: 1}} {
			list, _, err := w.Tasks(t.Context(), f)
			if err != nil || len(list) != 1 || list[0].CannotRun != task.CannotRun || list[0].Spec != nil {
				t.Errorf("%s: %+v, %v", name, list, err)
			}
		}
		page, err := w.List(t.Context(), view.Listing{Limit: 1})
		if err != nil || len(page.Tasks) != 1 || page.Tasks[0].CannotRun != task.CannotRun {
			t.Errorf("%+v, %v", page, err)
		}
		before := one[int64](t, w.db, "SELECT count(*) FROM tasks")
		_, err = w.Submit(t.Context(), SubmitRequest{Spec: written, Strict: true})
		if !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("strict: %v", err)
		}
		many, err := w.SubmitMany(t.Context(), []SubmitRequest{{Spec: written, Strict: true}, {Spec: managed(nil), Strict: true}})
		if err != nil || !errors.Is(many[0].Err, spec.ErrInvalid) || many[1].Err != nil || many[1].Task.CannotRun != "" {
			t.Errorf("%+v, %v", many, err)
		}
		if n := one[int64](t, w.db, "SELECT count(*) FROM tasks"); n != before+1 {
			t.Errorf("%d tasks, %d before", n, before)
		}
	}
	task := w.submit(t, wide)
	w.exec(t, `INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
		VALUES ($1, 0, 0, 1, 0, 0, 0, 0, 'alice')`, task.ID)
	if got := w.task(t, task.ID); got.CannotRun != "" {
		t.Errorf("a pilot has one of its jobs: %q", got.CannotRun)
	}
	if _, err := w.Say(t.Context(), VerbKill, task.ID, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.task(t, task.ID); got.CannotRun != "" {
		t.Errorf("%s: %q", got.State, got.CannotRun)
	}
}

// A role that nothing can run stops its task; pieces that are cut to fit need no walltime of their own.
func TestCannotRunByPart(t *testing.T) {
	w := newWorld(t)
	w.apply(t, smallSite)
	roles := managed(func(s *spec.Spec) {
		s.Count = 0
		s.Roles = []spec.Member{{Role: "small"}, {Role: "large", Requirements: &spec.Requirements{Cores: 64}}}
	})
	if task := w.submit(t, roles); !strings.HasPrefix(task.CannotRun, "role large: no queue can run it; ") {
		t.Errorf("%q", task.CannotRun)
	}
	fit := managed(func(s *spec.Spec) {
		s.Count, s.Events, s.Split = 0, &spec.Events{Total: 100}, &spec.Split{Fit: true, CPUPerEvent: 1}
		s.Requirements.Walltime = 30 * 24 * 3600
	})
	if task := w.submit(t, fit); task.CannotRun != "" {
		t.Errorf("%q", task.CannotRun)
	}
}
