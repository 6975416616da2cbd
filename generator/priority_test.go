package generator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// priorities counts a task's live jobs by priority.
func (w *world) priorities(t *testing.T, task int64) string {
	t.Helper()
	return jobs[string](t, w, `SELECT coalesce(string_agg(priority || '=' || n, ' ' ORDER BY priority), '')
		FROM (SELECT priority, count(*) AS n FROM live_jobs WHERE task_id = $1 AND (leased OR place = -priority) GROUP BY 1) x`, task)
}

func TestPrioritise(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cfg := w.config()
	cfg.Mark = broker.Mark{Floor: 6, Batch: 6}
	w.generateBy(cfg)
	f := &fleet{db: w}
	id := w.submit(t, managed(nil)).ID
	if _, err := w.Generate(ctx); err != nil {
		t.Fatal(err)
	}
	f.lease(t, 2)
	got, err := w.Prioritise(ctx, id, 900)
	want := PriorityChange{Task: id, After: 900, Ready: 4, Leased: 2}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	got, err = w.Prioritise(ctx, id, 900)
	if d := cmp.Diff(PriorityChange{Task: id, Before: 900, After: 900}, got); d != "" || err != nil {
		t.Errorf("again: %v: %s", err, d)
	}
	steps(t, w.Settle)
	w.all(t) // pieces to come have it too
	if got := w.priorities(t, id); got != "900=10" {
		t.Errorf("jobs by priority: %s", got)
	}
	if task := w.task(t, id); task.Priority != 900 || task.Spec.Priority != 0 {
		t.Errorf("%d, submitted with %d", task.Priority, task.Spec.Priority)
	}
	steps(t, w.Settle)
	w.recount(t)
}

func TestPrioritiseRefuses(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id := w.submit(t, managed(nil)).ID
	if _, err := w.Prioritise(ctx, id, spec.MaxPriority+1); !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), "priority: 1000000001 is not in") {
		t.Error(err)
	}
	if _, err := w.Prioritise(ctx, 999, 1); !errors.Is(err, view.ErrNoTask) {
		t.Error(err)
	}
	for _, state := range judge.States {
		w.exec(t, `UPDATE tasks SET state = $2, resume_state = NULL, priority = 0,
			ended_at = CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN now() END WHERE id = $1`, id, state)
		_, err := w.Prioritise(ctx, id, 1)
		over := state == "done" || state == "aborting" || state == "aborted"
		if errors.Is(err, judge.ErrState) != over || !over && err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// What a task was asked for as is kept, byte by byte, and part of what a key stands for.
func TestParameters(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	given := json.RawMessage(`{"taskName": "x",  "odd": [1, 2.50]}`)
	task, err := w.Submit(ctx, SubmitRequest{Spec: managed(nil), IdempotencyKey: "k", Parameters: given})
	if err != nil || string(task.Parameters) != string(given) {
		t.Errorf("%s, %v", task.Parameters, err)
	}
	again, err := w.Submit(ctx, SubmitRequest{Spec: managed(nil), IdempotencyKey: "k", Parameters: given})
	if err != nil || again.ID != task.ID {
		t.Errorf("%d, %v", again.ID, err)
	}
	_, err = w.Submit(ctx, SubmitRequest{Spec: managed(nil), IdempotencyKey: "k", Parameters: json.RawMessage(`{}`)})
	if !errors.Is(err, ErrKeyReused) {
		t.Error(err)
	}
	large := json.RawMessage(`"` + strings.Repeat("x", maxParameters) + `"`)
	if _, err := w.Submit(ctx, SubmitRequest{Spec: managed(nil), Parameters: large}); !errors.Is(err, spec.ErrInvalid) {
		t.Error(err)
	}
	if plain := w.submit(t, managed(nil)); plain.Parameters != nil {
		t.Errorf("%s", plain.Parameters)
	}
}
