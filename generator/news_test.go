package generator

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
)

// Steps that find nothing have nothing to say, so that a quiet site stays quiet, also where a task waits for another. Verbs, and steps that
// change tasks, say so.
func TestChangesAreTold(t *testing.T) {
	w := newWorld(t)
	written, changed := 0, 0
	cfg := w.config()
	cfg.Written, cfg.Changed = func() { written++ }, func() { changed++ }
	w.generateBy(cfg)
	quiet := func(when string) {
		t.Helper()
		written, changed = 0, 0
		for name, step := range map[string]func(context.Context) (int, error){"settle": w.Generator.Settle, "sweep": w.Sweep, "chain": w.Chain,
			"throttle": w.Throttle, "generate": w.Generate} {
			if n, err := step(t.Context()); n != 0 || err != nil || written+changed > 0 {
				t.Errorf("%s: %s found %d (%v), said %d times that the log has something, %d times that tasks have changed", when, name, n, err, written, changed)
			}
		}
	}
	told := func(what string) {
		t.Helper()
		if changed == 0 {
			t.Errorf("%s is told to nobody", what)
		}
		changed = 0
	}
	quiet("without tasks")
	first := w.submit(t, managed(nil))
	second := w.submit(t, needing(nil, spec.Need{Task: first.ID}))
	told("a task")
	if _, err := w.Say(t.Context(), VerbPause, first.ID, nil); err != nil {
		t.Fatal(err)
	}
	told("a verb")
	quiet("while a task waits for another")
	if _, err := w.Say(t.Context(), VerbKill, first.ID, nil); err != nil {
		t.Fatal(err)
	}
	told("the end of a task")
	if n, err := w.Chain(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	told("what became of the one that waited")
	if s := w.task(t, second.ID).State; s != "failed" {
		t.Errorf("it is %s, want failed", s)
	}
	quiet("when all is over")
}
