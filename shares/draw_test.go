package shares

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// kind says which figures a drawn plan may have.
type kind struct{ owned, floors, caps, tiers, weightless, limits, wild bool }

var (
	anyPlan     = kind{owned: true, floors: true, caps: true, tiers: true, weightless: true, limits: true, wild: true}
	lendingPlan = kind{owned: true, floors: true, caps: true, tiers: true, weightless: true} // all lent, all borrowed
	weightsOnly = kind{}
)

// drawTree draws a tree of depth ≤ 5 and at most 200 leaves, with whole figures in units. One in eight has 150 leaves at
// least: drawSpecs alone hardly ever comes to more than a hundred.
func drawTree(t *rapid.T, k kind) *Tree {
	var specs []Spec
	if depth := rapid.IntRange(1, 5).Draw(t, "depth"); rapid.IntRange(1, 8).Draw(t, "size") == 8 {
		specs = drawLarge(t, k, depth, rapid.IntRange(150, 200).Draw(t, "leaves"))
	} else {
		specs = drawSpecs(t, k, depth)
	}
	if k.limits {
		drawLendTo(t, specs, nil)
	}
	tree, err := Build(specs)
	if err != nil {
		t.Fatalf("drawn tree: %v", err)
	}
	if len(tree.Leaves()) > 200 {
		t.Skip("too many leaves")
	}
	return tree
}

// drawLendTo lets some shares lend to an ancestor only; above are the paths of theirs.
func drawLendTo(t *rapid.T, specs []Spec, above []string) {
	for i := range specs {
		path := specs[i].Name
		if len(above) > 0 {
			path = above[len(above)-1] + "/" + path
			if rapid.IntRange(0, 4).Draw(t, "lend_to") == 0 {
				specs[i].Plan.LendTo = rapid.SampledFrom(above).Draw(t, "ancestor")
			}
		}
		drawLendTo(t, specs[i].Children, append(above[:len(above):len(above)], path))
	}
}

func drawSpecs(t *rapid.T, k kind, depth int) []Spec {
	most := 5
	if depth == 1 && rapid.IntRange(0, 19).Draw(t, "wide") == 0 {
		most = 40
	}
	n := rapid.IntRange(1, most).Draw(t, "children")
	specs := make([]Spec, n)
	for i := range specs {
		specs[i] = Spec{Name: fmt.Sprintf("s%d", i), Plan: drawPlan(t, k)}
		if depth > 1 && rapid.IntRange(0, 9).Draw(t, "inner") < 4 {
			specs[i].Children = drawSpecs(t, k, depth-1)
		}
	}
	if specs[0].Plan.Weight == 0 {
		specs[0].Plan.Weight = 1
	}
	return specs
}

// drawLarge draws siblings with so many leaves in or below them, at depth levels at most.
func drawLarge(t *rapid.T, k kind, depth, leaves int) (specs []Spec) {
	for left := leaves; left > 0; {
		s := Spec{Name: fmt.Sprintf("s%d", len(specs)), Plan: drawPlan(t, k)}
		below := 1
		if depth > 1 {
			below = rapid.IntRange(1, min(left, 1+leaves/2)).Draw(t, "below")
		}
		if below > 1 {
			s.Children = drawLarge(t, k, depth-1, below)
		}
		specs = append(specs, s)
		left -= below
	}
	if specs[0].Plan.Weight == 0 {
		specs[0].Plan.Weight = 1
	}
	return specs
}

// TestDrawnTreesAreLarge: what is promised of 200 leaves is tried with 200 leaves, at every depth.
func TestDrawnTreesAreLarge(t *testing.T) {
	large, deep := 0, 0
	for seed := range 200 {
		tree := rapid.Custom(func(t *rapid.T) *Tree { return drawTree(t, weightsOnly) }).Example(seed)
		if leaves := tree.Leaves(); len(leaves) >= 150 {
			large++
			for _, leaf := range leaves {
				if tree.Nodes[leaf].Depth == 5 {
					deep++
					break
				}
			}
		}
	}
	if large < 10 || deep < 2 {
		t.Errorf("of 200 trees %d have 150 leaves or more, %d of them at depth 5", large, deep)
	}
}

func drawPlan(t *rapid.T, k kind) Plan {
	p := DefaultPlan()
	p.Weight = float64(rapid.SampledFrom([]int{1, 1, 1, 2, 3, 5, 39, 70, 250}).Draw(t, "weight"))
	oneIn := func(n int) bool { return rapid.IntRange(1, n).Draw(t, "dice") == n }
	units := func(most int64) Units { return Units(rapid.Int64Range(0, most).Draw(t, "units")) * 1000 }
	if k.wild && oneIn(8) {
		p.Weight = rapid.SampledFrom([]float64{1e-6, 0.3, 1e6}).Draw(t, "wild")
	}
	if k.weightless && oneIn(5) {
		p.Weight = 0
	}
	if k.tiers && oneIn(3) {
		p.Tier = rapid.IntRange(1, 3).Draw(t, "tier")
	}
	if k.owned && oneIn(3) {
		p.Owned = Of(units(40))
	}
	low := Units(0)
	if k.floors && oneIn(3) {
		low = units(30)
		p.Min = Of(low)
	}
	if k.caps && oneIn(4) {
		p.Max = Of(low + units(60))
	}
	if k.limits && oneIn(4) {
		u := units(20)
		p.Lend.Any = &u
	}
	if k.limits && oneIn(4) {
		u := units(20)
		p.Borrow.Any = &u
	}
	return p
}

// drawPool is a pool over a drawn tree with a drawn standing.
func drawPool(t *rapid.T, k kind) *Pool {
	p := NewPool(drawTree(t, k), "default")
	drawStanding(t, p)
	return p
}

// drawStanding changes held and want of some leaves, in whole units mostly.
func drawStanding(t *rapid.T, p *Pool) {
	for _, leaf := range p.tree.Leaves() {
		switch rapid.IntRange(0, 4).Draw(t, "standing") {
		case 0:
			p.SetWant(leaf, MaxAmount)
		case 1:
			p.SetWant(leaf, Units(rapid.Int64Range(0, 60_000).Draw(t, "want")))
		case 2:
			p.SetWant(leaf, 0)
		case 3:
			p.Hold(leaf, Units(rapid.Int64Range(0, 30).Draw(t, "held"))*1000-p.Held(leaf))
		}
	}
}

// planOf reads a plan as it stands in a site file.
func planOf(t interface{ Fatal(...any) }, text string) Plan {
	p := DefaultPlan()
	if err := yaml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}
