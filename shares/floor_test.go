package shares

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMinIsCarriedUp is E12 with branches: what a share needs for those below it, it has from its siblings.
func TestMinIsCarriedUp(t *testing.T) {
	leaf := func(name, plan string) Spec { return Spec{Name: name, Plan: planOf(t, plan)} }
	branch := func(name, plan string, children ...Spec) Spec {
		return Spec{Name: name, Plan: planOf(t, plan), Children: children}
	}
	for _, c := range []struct {
		name string
		root []Spec
		want map[string]float64
	}{
		{"a min two levels down", []Spec{branch("P", "{weight: 1}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("Q", "{weight: 3}")},
			map[string]float64{"P": 40, "P/a": 40, "P/b": 0, "Q": 60}},
		{"a min further down", []Spec{branch("P", "{}", branch("R", "{}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("c", "{weight: 8}")), leaf("Q", "{weight: 3}")},
			map[string]float64{"P/R/a": 40, "P": 40, "Q": 60}},
		{"mins add up", []Spec{branch("P", "{min: 50}", leaf("a", "{min: 40}"), leaf("b", "{min: 30}")), leaf("Q", "{weight: 9}")},
			map[string]float64{"P": 70, "P/a": 40, "P/b": 30, "Q": 30}},
		{"the own min is more", []Spec{branch("P", "{min: 50}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("Q", "{weight: 9}")},
			map[string]float64{"P": 50, "P/a": 40, "P/b": 10, "Q": 50}},
		{"owned units of a sibling serve it not", []Spec{branch("P", "{}", leaf("a", "{min: 40}"), leaf("o", "{owned: 20}")), leaf("Q", "{weight: 9}")},
			map[string]float64{"P": 60, "P/a": 40, "P/o": 20, "Q": 40}},
		{"owned units of the branch do", []Spec{branch("P", "{owned: 30}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("Q", "{weight: 9}")},
			map[string]float64{"P": 40, "P/a": 40, "P/b": 0, "Q": 60}},
		{"no more than the max of the branch", []Spec{branch("P", "{max: 30}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("Q", "{weight: 9}")},
			map[string]float64{"P": 30, "P/a": 30, "Q": 70}},
		{"of a later tier", []Spec{branch("P", "{tier: 2}", leaf("a", "{min: 40}"), leaf("b", "{}")), leaf("Q", "{}")},
			map[string]float64{"P": 40, "P/a": 40, "Q": 60}},
		{"more than there is, by weight", []Spec{branch("P", "{weight: 3}", leaf("a", "{min: 90}"), leaf("b", "{}")), leaf("Q", "{min: 90}")},
			map[string]float64{"P": 75, "P/a": 75, "Q": 25}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := Build(c.root)
			if err != nil {
				t.Fatal(err)
			}
			p := NewPool(tree, "default")
			for _, leaf := range tree.Leaves() {
				p.SetWant(leaf, MaxAmount)
			}
			targets := p.Targets(100_000)
			for path, want := range c.want {
				i, _ := tree.ByPath(path)
				if got := targets[i] / 1000; got < want-1e-9 || got > want+1e-9 {
					t.Errorf("%s has %v, want %v", path, got, want)
				}
			}
		})
	}
}

// TestMinIsServed: where the mins and the owned units of a tree fit into R and below every max, each share has its min or
// all that it wants, whatever the others want.
func TestMinIsServed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, lendingPlan)
		need := make([]Units, len(p.tree.Nodes)) // for all that is promised in and below a node
		fits := true
		for i := len(need) - 1; i >= 0; i-- {
			plan := &p.tree.Nodes[i].Plan
			owned, _ := plan.Owned.In("default")
			low, _ := plan.Min.In("default")
			need[i] = max(need[i], owned, low)
			if most, ok := plan.Max.In("default"); ok && most < need[i] {
				fits = false
			}
			if i > 0 {
				need[p.tree.Nodes[i].Parent] += need[i]
			}
		}
		if !fits {
			t.Skip("more is promised than a max allows")
		}
		r := need[0] + Units(rapid.Int64Range(0, 50_000).Draw(t, "beyond"))
		for i, target := range p.Targets(r) {
			low, _ := p.tree.Nodes[i].Plan.Min.In("default")
			if target < float64(min(low, p.Demand(i)))-Tolerance {
				t.Fatalf("R %v: %q has %v, its min is %v and its demand %v", r, p.tree.Nodes[i].Path, target, low, p.Demand(i))
			}
		}
	})
}
