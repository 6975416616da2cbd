package generator

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares/tagging"
)

// W4 of sharing.md: other rules on past tasks. Prod/Rep has another name, one rule is narrower, and one task had named
// a share that goes.
func TestRetag(t *testing.T) {
	w := newWorld(t)
	w.submit(t, managed(func(s *spec.Spec) { s.Count = 1000 })) // too old
	pgtest.Age(t, w.db, "tasks", "created_at", 8*24*time.Hour)
	for range 3 {
		w.submit(t, managed(nil)) // GP_PHYS
	}
	odd := w.submit(t, managed(func(s *spec.Spec) { s.WorkingGroup, s.Count = "GP_SM", 7 })).ID
	w.submit(t, managed(func(s *spec.Spec) { s.Label, s.WorkingGroup, s.Count = "test", "", 2 }))
	w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Prod/Rep", 4 }))
	gone := w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Wide", 5 })).ID
	before := one[string](t, w.db, "SELECT json_agg(t ORDER BY id)::text FROM tasks t")
	st, err := w.store.Preview(context.Background(), "new.yml", []byte(`
shares:
  - name: Prod
    children: [{name: MC}, {name: Redo, was: Prod/Rep}]
  - {name: Test}
tags:
  - {match: {working_group: GP_PHYS}, share: Prod/Redo}
  - {match: {label: test}, share: Test}
on_no_match: hold
queues:
  - {name: CERN, slots: 2000}
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tags.Past{Pool: w.db}.Retag(context.Background(), st, 7*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := tags.Retagging{SinceS: 7 * 86400, Tasks: 7, Jobs: 48, Changed: 5, Groups: 5,
		Moves: []tags.Retagged{
			{Old: "Prod/MC", Tasks: 1, Jobs: 7},
			{Old: "Prod/MC", New: "Prod/Redo", Tasks: 3, Jobs: 30},
			{Old: "Prod/Rep", New: "Prod/Redo", Same: true, Tasks: 1, Jobs: 4},
			{Old: "Test", New: "Test", Same: true, Tasks: 1, Jobs: 2},
			{Old: "Wide", Tasks: 1, Jobs: 5},
		},
		Unmatched: []tags.NoShare{
			{Old: "Prod/MC", Verdict: "hold", Tasks: 1, Jobs: 7, Example: odd, Attributes: tagging.Attributes{"label": "managed", "working_group": "GP_SM"},
				Reason: `no tagging rule matches; closest is rule 1 (share Prod/Redo): working_group is "GP_SM", not "GP_PHYS"`},
			{Old: "Wide", Verdict: "invalid", Tasks: 1, Jobs: 5, Example: gone, Attributes: tagging.Attributes{"label": "managed", "working_group": "GP_PHYS"},
				Reason: "the task names Wide, which is no leaf then"},
		}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if after := one[string](t, w.db, "SELECT json_agg(t ORDER BY id)::text FROM tasks t"); after != before {
		t.Error("a rehearsal wrote to tasks")
	}
	if st, err := w.store.Load(context.Background()); err != nil || st.Number != 1 {
		t.Errorf("version %d, %v", st.Number, err)
	}
}
