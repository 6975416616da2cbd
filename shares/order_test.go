package shares

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Order names each leaf once, in the order in which Choose would; and it is of a copy that the pool knows nothing of.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		all := drawCandidates(t, p)
		c := Units(rapid.IntRange(0, 100).Draw(t, "C")) * 1000
		before := p.Targets(c)
		got := p.Copy().Order(c, all, len(p.tree.Leaves()))
		if len(got) != len(all) {
			t.Fatalf("%d of %d leaves", len(got), len(all))
		}
		if !slices.Equal(before, p.Targets(c)) || !slices.Equal(before, p.Copy().Targets(c)) {
			t.Fatal("the pool is another one")
		}
		var left Contenders
		for _, of := range all {
			left.Set(p, of.Leaf, true)
		}
		if first, ok := left.Choose(p, Round(c, p.Held(0), 1000)); ok && got[0] != first {
			t.Fatalf("leaf %d comes first, Choose says %d", got[0], first)
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != len(all) {
			t.Fatal("a leaf comes twice")
		}
	})
}
