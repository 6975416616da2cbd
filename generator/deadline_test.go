package generator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/generator/spec"
)

// look works out all deadlines as if half a minute had passed.
func (w *world) look(t tb) {
	t.Helper()
	steps(t, w.Settle)
	w.exec(t, "UPDATE task_deadlines SET seen_at = seen_at - interval '1 min'")
	steps(t, w.Forecast)
}

// A task is forecast by the rate of its ends; one that will be late gains its boost, once.
func TestDeadlines(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	at := func(d time.Duration) func(*spec.Spec) {
		return func(s *spec.Spec) {
			end := time.Now().Add(d).UTC()
			s.Deadline, s.Boost, s.Priority = &end, 70, 5
		}
	}
	soon, later := w.submit(t, managed(at(time.Hour))), w.submit(t, managed(at(1000*time.Hour)))
	w.all(t)
	w.look(t)
	if d := w.task(t, soon.ID).Deadline; d == nil || d.LateRisk != "unknown" || d.ETA != nil {
		t.Errorf("before anything ended: %+v", d)
	}
	f.lease(t, 20)
	f.end(t, "finished", 10)
	w.exec(t, "UPDATE tasks SET started_at = now() - interval '10 h' WHERE started_at IS NOT NULL")
	steps(t, w.Settle)
	w.exec(t, "UPDATE tasks SET started_at = now() - interval '10 h'")
	for range 3 {
		w.look(t)
	}
	got, other := w.task(t, soon.ID), w.task(t, later.ID)
	if got.Deadline.LateRisk != "high" || got.Deadline.ETA == nil || got.Priority != 75 || got.Deadline.Boosted != 70 {
		t.Errorf("%+v, %+v", got, got.Deadline)
	}
	if other.Deadline.LateRisk != "low" || other.Priority != 5 {
		t.Errorf("%+v, %+v", other, other.Deadline)
	}
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE task_id = $1 AND priority <> 75", soon.ID); n != 0 {
		t.Errorf("%d jobs without the priority that the task has gained", n)
	}
	f.end(t, "finished", 20)
	w.exec(t, "UPDATE task_deadlines SET deadline = now() - interval '1 h' WHERE task_id = $1", soon.ID)
	w.look(t)
	for id, want := range map[int64]string{soon.ID: "missed", later.ID: "met"} {
		if d := w.task(t, id).Deadline; d.LateRisk != want || d.ETA != nil {
			t.Errorf("in the end: %+v, want %s", d, want)
		}
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM report.deadlines WHERE late_risk IN ('met', 'missed') AND jobs_left = 0"); n != 2 {
		t.Errorf("%d tasks in the report", n)
	}
}

func TestDeadlinesThatCannotBe(t *testing.T) {
	s := managed(func(s *spec.Spec) { s.Boost = 3 })
	if err := s.Check(); !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), "say deadline too") {
		t.Errorf("%v", err)
	}
	const file = "name: a\nuser: u\ncommand: [x]\ncount: 1\ndeadline: "
	if specs, err := spec.ParseSpecs("f", []byte(file+"2026-12-24T18:00:00+01:00\nboost: 10\n")); err != nil || specs[0].Deadline.Hour() != 17 {
		t.Errorf("%+v, %v", specs, err)
	}
	if _, err := spec.ParseSpecs("f", []byte(file+"tomorrow\n")); err == nil || !strings.Contains(err.Error(), "f:5:11") {
		t.Errorf("%v", err)
	}
}

// A deadline that has passed is refused, but not where the task was there before: a repeat of the request gets it.
func TestDeadlineThatHasPassed(t *testing.T) {
	w := newWorld(t)
	past, soon := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	late := func(at time.Time, key string) SubmitRequest {
		return SubmitRequest{Spec: managed(func(s *spec.Spec) { s.Deadline = &at }), IdempotencyKey: key}
	}
	if _, err := w.Submit(t.Context(), late(past, "")); !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), "has passed (a later one, or none)") {
		t.Errorf("submitted: %v", err)
	}
	there, err := w.Submit(t.Context(), late(soon, "k"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.SubmitMany(t.Context(), []SubmitRequest{late(past, ""), late(soon, "k")})
	if err != nil || !errors.Is(out[0].Err, spec.ErrInvalid) || out[1].Err != nil || out[1].Task.ID != there.ID {
		t.Errorf("%+v, %v", out, err)
	}
}
