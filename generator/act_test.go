package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
)

// told is what Act said of each task, in short.
func told(a Acted) string {
	var all []string
	for _, t := range a.Tasks {
		all = append(all, fmt.Sprintf("%s→%s %v", t.Before, t.After, t.Changed))
	}
	return strings.Join(all, "; ")
}

func TestActOnManyTasks(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	a := w.submit(t, managed(nil))
	b := w.submit(t, managed(func(s *spec.Spec) { s.User, s.Name = "bob", "a_b" }))
	c := w.submit(t, managed(func(s *spec.Spec) { s.Campaign, s.Label, s.Name = "", "test", "axb" }))
	act := func(r ActRequest, want string) Acted {
		t.Helper()
		out, err := w.Act(ctx, r)
		if err != nil || told(out) != want {
			t.Errorf("%+v: %s, %v, want %s", r, told(out), err, want)
		}
		return out
	}
	alice := Selection{User: "alice"}
	act(ActRequest{Verb: VerbPause, Selection: alice, DryRun: true}, "ready→paused true; ready→paused true")
	if got := w.states(t, a, b, c); got != "ready ready ready" {
		t.Fatalf("a dry run changed something: %s", got)
	}
	act(ActRequest{Verb: VerbPause, Selection: Selection{Share: "Prod", Name: "ev*"}}, "ready→paused true")
	act(ActRequest{Verb: VerbPause, Selection: alice}, "ready→paused true") // a is so already
	out := act(ActRequest{Verb: VerbPause, Selection: Selection{Tasks: []int64{c.ID, a.ID, b.ID, b.ID, 9999}}}, "paused→paused false; ready→paused true; paused→paused false; → false")
	if out.Changed != 1 || out.Tasks[0].Why != "nothing to do" || out.Tasks[3].Why != WhyNoTask {
		t.Errorf("%+v", out)
	}
	act(ActRequest{Verb: VerbResume, Selection: Selection{Label: "test"}}, "paused→ready true")
	five := 5
	act(ActRequest{Verb: VerbPrioritise, Priority: &five, Selection: alice, DryRun: true}, "paused→paused true; ready→ready true")
	out = act(ActRequest{Verb: VerbPrioritise, Priority: &five, Selection: alice}, "paused→paused true; ready→ready true")
	if p := out.Tasks[0].Priority; p == nil || p.After != 5 || w.task(t, a.ID).Priority != 5 || w.task(t, b.ID).Priority != 0 {
		t.Errorf("%+v", out)
	}
	act(ActRequest{Verb: VerbReassign, To: "Wide", Selection: Selection{State: []string{"ready"}}}, "ready→ready true")
	if got := w.task(t, c.ID).Share; got != "Wide" {
		t.Errorf("reassigned to %s", got)
	}
	// _ is a letter of the name, not any letter.
	if _, err := w.Act(ctx, ActRequest{Verb: VerbKill, Selection: Selection{Share: "Prud"}}); !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), "no share \"Prud\"") {
		t.Errorf("tasks of a share that is misspelt: %v", err)
	}
	act(ActRequest{Verb: VerbKill, Selection: Selection{Name: "a_b"}}, "paused→aborted true")
	out = act(ActRequest{Verb: VerbPause, Selection: Selection{User: "bob", State: []string{"aborted"}}}, "aborted→aborted false")
	if why := out.Tasks[0].Why; why != fmt.Sprintf("task %d is aborted: cannot pause (tasks that are ready, running or throttled can be paused)", b.ID) {
		t.Errorf("why: %s", why)
	}
	act(ActRequest{Verb: VerbKill, Selection: Selection{State: []string{"ready", "paused", "throttled"}, After: a.ID}}, "ready→aborted true")
}

func TestScaleManyTasks(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	a, b := w.submit(t, managed(training)), w.submit(t, managed(training))
	plain := w.submit(t, managed(nil))
	r := ActRequest{Verb: VerbScale, Scale: &spec.Scaling{Group: "g", Replicas: 2}, Selection: Selection{Tasks: []int64{a.ID, b.ID, plain.ID, 9999}}}
	r.DryRun = true
	dry, err := w.Act(ctx, r)
	if err != nil || dry.Changed != 2 || dry.Tasks[2].Why == "" || w.task(t, a.ID).Pieces != 18 {
		t.Fatalf("%+v, %v", dry, err)
	}
	r.DryRun = false
	out, err := w.Act(ctx, r)
	if err != nil || out.Changed != 2 || out.Tasks[0].Scaled.Before != 3 || w.task(t, b.ID).Pieces != 12 {
		t.Errorf("%+v, %v", out, err)
	}
	if out.Tasks[2].Why == "" || out.Tasks[3].Why != WhyNoTask || out.Tasks[2].Scaled != nil {
		t.Errorf("%+v", out.Tasks)
	}
	if again, err := w.Act(ctx, r); err != nil || again.Changed != 0 || again.Tasks[1].Why != "nothing to do" {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// Nobody is meant by mistake.
func TestActRefuses(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		r     ActRequest
		field string
	}{
		{ActRequest{Verb: VerbKill}, "tasks"},
		{ActRequest{Verb: VerbKill, Selection: Selection{Tasks: []int64{1}, User: "a"}}, "tasks"},
		{ActRequest{Verb: "eat", Selection: Selection{User: "a"}}, "verb"},
		{ActRequest{Verb: VerbKill, Selection: Selection{User: "a", State: []string{"ready", "asleep"}}}, "state"},
		{ActRequest{Verb: VerbPrioritise, Selection: Selection{User: "a"}}, "priority"},
		{ActRequest{Verb: VerbReassign, Selection: Selection{User: "a"}}, "to"},
		{ActRequest{Verb: VerbScale, Selection: Selection{User: "a"}}, "scale"},
		{ActRequest{Verb: VerbKill, With: &spec.Changes{}, Selection: Selection{User: "a"}}, "with"},
	} {
		_, err := w.Act(context.Background(), c.r)
		var faults spec.Faults
		if !errors.As(err, &faults) || faults[0].Field != c.field {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}

func TestRetryWithChanges(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.MaxAttempts = 1 }))
	w.all(t)
	f.lease(t, 10)
	f.end(t, "finished", 4)
	f.end(t, "failed", 6)
	steps(t, w.Settle)
	memory, attempts, priority, queues := int64(8000), 5, 7, []string{"CERN"}
	with := &spec.Changes{MemoryMB: &memory, MaxAttempts: &attempts, Priority: &priority, Queues: &queues}
	bad := -1
	if _, err := w.Say(ctx, VerbRetry, task.ID, &spec.Changes{MaxAttempts: &bad}); !errors.Is(err, spec.ErrInvalid) {
		t.Errorf("max_attempts -1: %v", err)
	}
	if c, err := w.Say(ctx, VerbRetry, task.ID, with); err != nil || c.Again != 6 {
		t.Fatalf("%+v, %v", c, err)
	}
	w.all(t)
	got := jobs[string](t, w, `SELECT string_agg(DISTINCT format('%s %s %s %s', s.memory_mb, s.queues, j.max_attempts, j.priority), ';')
		FROM live_jobs j JOIN shapes s ON s.id = j.shape_id`)
	if got != "8000 {CERN} 5 7" {
		t.Errorf("jobs that try again: %s", got)
	}
	if s := w.task(t, task.ID).Spec; s.Requirements.MemoryMB != 8000 || s.MaxAttempts != 5 || s.Requirements.Cores != 1 {
		t.Errorf("spec: %+v", s)
	}
	w.drain(t, f, []int64{task.ID})
	if got := w.task(t, task.ID); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

func TestClone(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	source := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Inputs, s.PerJob = 0, spec.Named("a", "b", "c"), 2 }))
	clone := func(change string) view.Task {
		t.Helper()
		got, err := w.Clone(ctx, CloneRequest{Task: source.ID, Changes: []byte(change), IdempotencyKey: "k" + change})
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		return got
	}
	same := clone("")
	if same.ID == source.ID || same.State != "ready" || same.Pieces != 2 || same.Inputs != 3 || same.Name != "evgen" {
		t.Errorf("%+v", same)
	}
	if again := clone(""); again.ID != same.ID {
		t.Errorf("the key made a second clone: %d, %d", same.ID, again.ID)
	}
	other := clone(`{"name": "other", "requirements": {"memory_mb": 5000}, "labels": {"x": "y"}, "per_job": 1, "working_group": "GP_X"}`)
	if r := other.Spec.Requirements; other.Name != "other" || other.Pieces != 3 || r.MemoryMB != 5000 || r.Cores != 1 || other.Attributes["labels.x"] != "y" {
		t.Errorf("%+v", other)
	}
	if counted := clone(`{"count": 4, "per_job": null}`); counted.Pieces != 4 || counted.Inputs != 0 || counted.State != "ready" {
		t.Errorf("%+v", counted)
	}
	for _, bad := range []string{`{"colour": 1}`, `{"count": -1, "per_job": null}`, `[]`, `{"name": ""}`} {
		if _, err := w.Clone(ctx, CloneRequest{Task: source.ID, Changes: []byte(bad)}); !errors.Is(err, spec.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	of := CloneRequest{Task: source.ID, Changes: []byte(`{"uſer": "bob", "count": 1, "per_job": null}`), Check: func(_ context.Context, s *spec.Spec) error {
		s.User = "carol"
		return nil
	}}
	if hers, err := w.Clone(ctx, of); err != nil || hers.User != "carol" {
		t.Errorf("made carol's: %v, %s", err, hers.User)
	}
	refusal := errors.New("no")
	of.Check = func(context.Context, *spec.Spec) error { return refusal }
	if _, err := w.Clone(ctx, of); !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
	if _, err := w.Clone(ctx, CloneRequest{Task: 9999}); !errors.Is(err, view.ErrNoTask) {
		t.Errorf("no task: %v", err)
	}
	w.all(t)
	if got := jobs[string](t, w, "SELECT string_agg(inputs::text, ' ' ORDER BY idx) FROM live_jobs WHERE task_id = $1", same.ID); got != "{a,b} {c}" {
		t.Errorf("jobs of the clone: %s", got)
	}
	w.drain(t, f, []int64{source.ID, same.ID, other.ID})
}

func TestSubmitMany(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	requests := []SubmitRequest{
		{Spec: managed(nil), IdempotencyKey: "a"},
		{Spec: managed(func(s *spec.Spec) { s.Count = 0 }), IdempotencyKey: "b"},
		{Spec: managed(func(s *spec.Spec) { s.Label = "unknown" }), IdempotencyKey: "c"},
		{Spec: managed(func(s *spec.Spec) { s.Count, s.Inputs = 0, spec.Named("x", "y") }), IdempotencyKey: "d"},
		{Spec: managed(streamed), IdempotencyKey: "e"},
		{Spec: managed(nil)},
		{Spec: managed(func(s *spec.Spec) { s.Needs = []spec.Need{{Task: 9999}} })},
	}
	first, err := w.SubmitMany(ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, spec.ErrInvalid, tags.ErrUntagged, nil, nil, nil, spec.ErrInvalid} {
		if !errors.Is(first[i].Err, want) || (want == nil) != (first[i].Task.ID > 0) {
			t.Errorf("task %d: %+v, want %v", i, first[i], want)
		}
	}
	if got := w.states(t, first[0].Task, first[3].Task, first[4].Task, first[5].Task); got != "ready ready submitting ready" {
		t.Errorf("states: %s", got)
	}
	requests[3].Spec.Priority = 9 // another body under the same key
	again, err := w.SubmitMany(ctx, requests)
	if err != nil || again[0].Task.ID != first[0].Task.ID || !errors.Is(again[3].Err, ErrKeyReused) || again[5].Task.ID == first[5].Task.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := w.SubmitMany(ctx, nil); !errors.Is(err, spec.ErrInvalid) {
		t.Errorf("none: %v", err)
	}
}

// What changes a task without a verb of the table is refused where the task makes no more jobs, or changes nothing.
func TestOtherWordsInEveryState(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	for i, state := range judge.States {
		task := w.submit(t, managed(nil))
		w.exec(t, `UPDATE tasks SET state = $2, resume_state = CASE WHEN $2 = 'paused' THEN 'running' END,
			ended_at = CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN now() END WHERE id = $1`, task.ID, state)
		n := i + 1
		for _, r := range []ActRequest{{Verb: VerbPrioritise, Priority: &n}, {Verb: VerbReassign, To: "Test"}} {
			none := state == "done" || state == "aborted" || state == "aborting" && r.Verb == VerbPrioritise || judge.Final(state) && r.Verb == VerbReassign
			r.Tasks, r.DryRun = []int64{task.ID}, true
			dry, err := w.Act(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			r.DryRun = false
			out, err := w.Act(ctx, r)
			if err != nil || out.Tasks[0].Changed == none || dry.Tasks[0].Changed == none {
				t.Errorf("%s, %s: %+v, rehearsed %+v, %v", state, r.Verb, out.Tasks[0], dry.Tasks[0], err)
			}
		}
		if got, err := w.Clone(ctx, CloneRequest{Task: task.ID}); err != nil || got.State != "ready" {
			t.Errorf("clone of a task that is %s: %+v, %v", state, got, err)
		}
	}
}
