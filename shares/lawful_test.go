package shares

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLawfulGrantsAreWithinTargets: whatever Admits and Choose let a share have is part of its target, however little of the
// pool is in use and whether there is all that is owned or not. In small trees: quotas are in whole units where grants are
// admitted, so that far down a share may be a little more than a unit over.
func TestLawfulGrantsAreWithinTargets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs := drawSpecs(t, kind{owned: true, floors: true, tiers: true, weightless: true, limits: true}, 2)
		drawLendTo(t, specs, nil)
		tree, err := Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.Nodes) > 7 {
			t.Skip("too many shares")
		}
		p := NewPool(tree, "default")
		for _, leaf := range tree.Leaves() {
			p.SetWant(leaf, Units(rapid.SampledFrom([]int64{0, 0, 3, 1000}).Draw(t, "want"))*1000)
		}
		c := Units(rapid.Int64Range(1, 40).Draw(t, "capacity")) * 1000
		p.SetCapacity(c)
		for {
			targets := p.Targets(Round(c, p.Held(0), 1000))
			leaf, ok := grant(p, c)
			if !ok {
				return
			}
			tree.Up(leaf, func(n int) {
				if over := float64(p.Held(n)) - targets[n]; n > 0 && over >= 1000+Tolerance {
					t.Fatalf("C %v, O %v: %q holds %v of %v", c, p.owned[0]/1000, tree.Nodes[n].Path, p.Held(n), targets[n]/1000)
				}
			})
		}
	})
}
