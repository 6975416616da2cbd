package site

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// drawTree draws a tree of up to three levels with names out of a few, so that paths come back.
func drawTree(t *rapid.T, label string) *shares.Tree {
	var specs func(depth int) []shares.Spec
	specs = func(depth int) []shares.Spec {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3, rapid.ID).Draw(t, label)
		var out []shares.Spec
		for _, name := range names {
			s := shares.Spec{Name: name, Plan: shares.DefaultPlan()}
			if depth > 1 && rapid.Bool().Draw(t, label+" children") {
				s.Children = specs(depth - 1)
			}
			out = append(out, s)
		}
		return out
	}
	tree, err := shares.Build(specs(3))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestMatchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, fresh := drawTree(t, "old"), drawTree(t, "new")
		var live []liveShare
		var paths []string
		for i, n := range old.Nodes[1:] {
			live = append(live, liveShare{ID: shares.ShareID(i + 1), Path: n.Path, Leaf: old.Leaf(i + 1)})
			paths = append(paths, n.Path)
		}
		was := map[string]string{}
		for _, n := range fresh.Nodes[1:] {
			if len(paths) > 0 && rapid.IntRange(0, 3).Draw(t, "renamed") == 0 {
				k := rapid.IntRange(0, len(paths)-1).Draw(t, "from")
				was[n.Path] = paths[k]
				paths = slices.Delete(paths, k, k+1) // Parse refuses two that were one
			}
		}
		former := newMatcher(fresh, live).match(was, nil)
		taken := map[shares.ShareID]bool{}
		for i, n := range fresh.Nodes {
			f := former[i]
			if f.ID != 0 && taken[f.ID] {
				t.Fatalf("share %d is two: %v", f.ID, former)
			}
			taken[f.ID] = true
			if from, ok := was[n.Path]; ok && f.Path != from {
				t.Fatalf("%s was %s but is taken for %q", n.Path, from, f.Path)
			}
		}
		for i, n := range fresh.Nodes[1:] { // nobody is new whose own path nobody else took
			if j, ok := old.ByPath(n.Path); ok && former[i+1].ID == 0 && !taken[shares.ShareID(j)] {
				t.Fatalf("%s is new, though %d is free", n.Path, j)
			}
		}
	})
}

func TestDiffOfRulesIsShortest(t *testing.T) {
	src := func(shareNames ...string) string {
		s := "shares: [{name: a}, {name: b}, {name: c}]\ntags:\n"
		for _, name := range shareNames {
			s += fmt.Sprintf("  - {match: {label: %q}, share: %s}\n", name, name)
		}
		return s
	}
	parse := func(src string) *Site {
		s, err := Parse("f", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := parse(src("a", "b", "c")), parse(src("b", "a", "c"))
	got := ""
	for _, c := range diff(a, b).Rules {
		got += c.Line("rule") + "\n"
	}
	want := "rule 1 removed: {\"label\":\"a\"} → a\nrule 2 added: {\"label\":\"a\"} → a\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	named := parse("shares: [{name: a}]\ntags: [{match: {label: \"(?P<x>a)&\"}, share: \"${x}\"}]\n")
	if got := diff(parse("shares: [{name: a}]\n"), named).Rules[0].Line("rule"); got != "rule 1 added: {\"label\":\"(?P<x>a)&\"} → ${x}" {
		t.Error(got)
	}
	if !diff(a, a).None() || diff(a, b).None() {
		t.Error("None")
	}
}
