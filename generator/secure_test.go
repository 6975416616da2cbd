package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The wait of a submission for the standby is broken off: the primary shows the task, and the standby may not have it. Repeated
// under its key, it is not answered before the standby has it.
func TestRepeatedSubmissionWaitsForTheStandby(t *testing.T) {
	l := pgtest.NewLonely(t)
	w := newWorldOn(t, l.Pool)
	first := SubmitRequest{Spec: managed(nil), IdempotencyKey: "k1"}
	alone := func(ctx context.Context) error { _, err := w.Submit(ctx, first); return err }
	many := func(ctx context.Context) error {
		out, err := w.SubmitMany(ctx, []SubmitRequest{first})
		if err == nil {
			err = out[0].Err
		}
		return err
	}
	l.Standby("nobody")
	l.BreakOff("a submission", alone)
	if n := one[int](t, w.db, "SELECT count(*)::int FROM tasks"); n != 1 {
		t.Fatalf("%d tasks show, want the one", n)
	}
	l.BreakOff("a repeat", alone)
	l.BreakOff("a repeat among many", many)
	// What promises nothing does not wait.
	other := first
	other.Spec.Count = 11
	if _, err := w.Submit(t.Context(), other); !errors.Is(err, ErrKeyReused) {
		t.Fatalf("another task under the key: %v", err)
	}
	l.Standby("")
	task, err := w.Submit(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.SubmitMany(t.Context(), []SubmitRequest{first})
	if err != nil || out[0].Err != nil || out[0].Task.ID != task.ID {
		t.Fatalf("a repeat among many: %+v, %v; want task %d", out, err, task.ID)
	}
	if n := one[int](t, w.db, "SELECT count(*)::int FROM tasks"); n != 1 {
		t.Fatalf("%d tasks, want the one", n)
	}
}

// How many inputs are stored is said when the standby has them: whoever is told so goes on behind them.
func TestStoredInputsAreSaidWhenTheStandbyHasThem(t *testing.T) {
	l := pgtest.NewLonely(t)
	w := newWorldOn(t, l.Pool)
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.InputsStreamed = 0, true }))
	put := func(ctx context.Context) error {
		_, err := w.AddInputs(ctx, task.ID, 0, strings.NewReader("\"a\"\n\"b\"\n"))
		return err
	}
	commit := func(ctx context.Context) error { _, err := w.Commit(ctx, task.ID); return err }
	l.Standby("nobody")
	l.BreakOff("a chunk", put)
	l.BreakOff("the chunk again", put)
	l.BreakOff("the commit", commit)
	l.BreakOff("the commit again", commit)
	l.Standby("")
	if err := commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.task(t, task.ID); got.Jobs.Total != 2 {
		t.Fatalf("%+v, want two jobs", got.Jobs)
	}
}

// Verbs lock their task, also where nothing is left to do: then their own commit waits.
func TestRepeatedVerbsWaitForTheStandby(t *testing.T) {
	l := pgtest.NewLonely(t)
	w := newWorldOn(t, l.Pool)
	task := w.submit(t, managed(nil)).ID
	l.Standby("nobody")
	for _, verb := range []struct {
		name string
		say  func(context.Context) error
	}{
		{"priority", func(ctx context.Context) error { _, err := w.Prioritise(ctx, task, 7); return err }},
		{"pause", func(ctx context.Context) error { _, err := w.Say(ctx, VerbPause, task, nil); return err }},
		{"finish", func(ctx context.Context) error { _, err := w.Say(ctx, VerbFinish, task, nil); return err }},
	} {
		for n := range 2 {
			l.BreakOff(fmt.Sprintf("%s, time %d", verb.name, n+1), verb.say)
		}
	}
	l.Standby("")
	if got := w.task(t, task); got.Priority != 7 || got.State != "finished" && got.State != "finishing" {
		t.Fatalf("priority %d, %s", got.Priority, got.State)
	}
}
