package site

import (
	"testing"
)

func TestLimitsAreCompared(t *testing.T) {
	const head = "shares: [{name: A}]\nlimits:\n  - {user: \"*\", max_active_tasks: 10}\n"
	a, errA := Parse("a", []byte(head))
	b, errB := Parse("b", []byte(head+"  - {share: A, label: x, max_ready_jobs: 7, max_held_units: 1.5}\n"))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	c := diff(a, b)
	want := `limit 2 added: share "A", label "x": max_ready_jobs 7 max_held_units 1.5`
	if c.None() || len(c.Limits) != 1 || c.Limits[0].Line("limit") != want {
		t.Errorf("%+v, want %s", c.Limits, want)
	}
	if c := diff(b, b); !c.None() {
		t.Errorf("%+v", c)
	}
}
