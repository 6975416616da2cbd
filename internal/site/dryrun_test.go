package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// W1 of sharing.md: the tree T with all demand unbounded, Prod 70→50 and Ana 25→45.
func TestDryRunShowsTargets(t *testing.T) {
	b := newBench(t)
	src, err := os.ReadFile("../../deploy/site.example.yml")
	if err != nil {
		t.Fatal(err)
	}
	b.apply(string(src))
	want := map[shares.ShareID]shares.Units{}
	for _, id := range b.ids() {
		want[id] = 5_000_000
	}
	b.hooks.Standing = func(context.Context) (map[string]Demand, error) {
		return map[string]Demand{file.DefaultPool: {Want: want, Offered: 2_000_000}}, nil
	}
	before := b.dump()
	b.order = nil
	changed := strings.Replace(strings.Replace(string(src), "weight: 70", "weight: 50", 1), "weight: 25", "weight: 45", 1)
	a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(changed), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, b.dump()); d != "" || len(b.order) != 0 || !a.DryRun || a.Version != 2 {
		t.Errorf("a dry run did something: %s %v %+v", d, b.order, a)
	}
	got := map[string]string{}
	for _, s := range a.Targets[0].Shares {
		got[s.Path] = fmt.Sprintf("%.0f→%.0f", *s.Before, *s.After)
	}
	if d := cmp.Diff(map[string]string{"Production": "700→500", "Production/MC": "350→250", "Production/Rep": "210→150", "Production/Val": "140→100",
		"Analysis": "250→450", "Analysis/User": "200→360", "Analysis/Grp": "50→90", "Test": "50→50"}, got); d != "" {
		t.Error(d)
	}
	if len(a.Changes.Shares) != 2 || a.Changes.Shares[0].String() != "Production: weight 70 → 50" || a.Targets[0].CapacityAfter != 1000 {
		t.Errorf("changes %v, %+v", a.Changes.Shares, a.Targets[0])
	}
}

func TestDryRunSaysWhatWouldBeRefused(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	ids := b.ids()
	b.live["A"] = Live{Tasks: 1}
	b.hooks.Standing = func(context.Context) (map[string]Demand, error) {
		return map[string]Demand{file.DefaultPool: {Held: map[shares.ShareID]shares.Units{ids["A"]: 30_000, ids["B"]: 10_000}}}, nil
	}
	src := site("{name: B}", "{name: N}")
	a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(src), DryRun: true})
	if err != nil || len(a.Refused) != 1 || a.Refused[0].Share != "A" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = b.Apply(t.Context(), ApplyRequest{Source: []byte(src), DryRun: true, Moves: map[string]string{"A": "N"}})
	if err != nil || len(a.Refused) != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	got := ""
	for _, s := range a.Targets[0].Shares {
		got += fmt.Sprintf("%s %v %v;", s.Path, text(s.Before), text(s.After))
	}
	if got != "B 10 10;N - 30;A 30 -;" {
		t.Errorf("targets %s", got)
	}
}

func text(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprint(*f)
}

// A version of a program that knew fewer rules is refused like any file, with its lines; nothing changes.
func TestRollbackToWhatIsRefusedNow(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A, max: 5}"))
	b.apply(site("{name: A}"))
	if _, err := b.db.Exec(t.Context(), "UPDATE site_versions SET source = $1 WHERE version = 1", site("{name: A, owned: 10, max: 5}")); err != nil {
		t.Fatal(err)
	}
	before := b.everything()
	for _, dry := range []bool{true, false} {
		_, err := b.Rollback(t.Context(), RollbackRequest{Version: 1, DryRun: dry})
		var problems strict.Problems
		if !errors.As(err, &problems) || !strings.HasPrefix(err.Error(), "version-1.yml:2:") ||
			!strings.HasSuffix(err.Error(), "owned: 10 is more than max 5 (lower owned or raise max)") {
			t.Errorf("dry run %v: %v", dry, err)
		}
	}
	if d := cmp.Diff(before, b.everything()); d != "" {
		t.Errorf("it wrote: %s", d)
	}
}

func TestRollbackKnowsWhoIsWho(t *testing.T) {
	b := newBench(t)
	v1 := site("{name: A, children: [{name: x}, {name: y}]}", "{name: B}")
	b.apply(v1)
	ids := b.ids()
	b.apply("shares: [{name: Z, was: A, children: [{name: x2, was: A/x}, {name: y}]}, {name: A}]\nqueues: [{name: r, was: q}]\n")
	changes, err := b.Diff(t.Context(), 1, 2)
	if err != nil || len(changes.Queues) != 2 || changes.Queues[0].String() != "queue q renamed to r" {
		t.Errorf("diff %+v, %v", changes, err)
	}
	a, err := b.Rollback(t.Context(), RollbackRequest{Version: 1, By: "bob"})
	if err != nil || a.Version != 3 {
		t.Fatalf("%+v, %v", a, err)
	}
	now := b.ids()
	for _, path := range []string{"A", "A/x", "A/y"} {
		if now[path] != ids[path] {
			t.Errorf("%s has id %d, had %d", path, now[path], ids[path])
		}
	}
	if now["B"] == ids["B"] {
		t.Error("the id of a removed share was used again")
	}
	history, err := b.History(t.Context(), 0, 2)
	if err != nil || len(history) != 2 || history[0].Version != 3 || history[0].RollbackOf != 1 || history[0].AppliedBy != "bob" || history[0].Note != "rollback to version 1" {
		t.Errorf("history %+v, %v", history, err)
	}
	if older, err := b.History(t.Context(), 2, 0); err != nil || len(older) != 1 {
		t.Errorf("older %+v, %v", older, err)
	}
	old, err := b.Get(t.Context(), 2)
	if i, ok := old.Tree.ByPath("Z/x2"); err != nil || !ok || old.Tree.Nodes[i].ID != ids["A/x"] {
		t.Errorf("version 2: %+v, %v", old, err)
	}
	if _, err := b.Rollback(t.Context(), RollbackRequest{Version: 9}); !errors.Is(err, ErrNoVersion) {
		t.Errorf("rollback to nowhere: %v", err)
	}
	if a, err := b.Rollback(t.Context(), RollbackRequest{Version: 1}); err != nil || !a.Unchanged {
		t.Errorf("rollback to what is in force: %+v, %v", a, err)
	}
}
