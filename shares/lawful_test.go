package shares

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLawfulGrantsAreWithinTargets: whatever Admits and Choose let a share have is part of its target, however little of the
// pool is in use and whether there is all that is owned or not; quotas being whole units, to within one in small trees and
// two in large ones. See promise 6 for the trees that this is not true of.
func TestLawfulGrantsAreWithinTargets(t *testing.T) {
	t.Run("small, limits anywhere", rapid.MakeCheck(func(t *rapid.T) {
		specs := drawSpecs(t, anyPlan, rapid.IntRange(1, 5).Draw(t, "depth"))
		drawLendTo(t, specs, nil)
		p := lawful(t, specs)
		if len(p.tree.Nodes) > 7 || maxBelowOwned(p) || lendsToSome(p) {
			t.Skip("too many shares, or the promise excepts them")
		}
		checkLawful(t, p, Units(rapid.Int64Range(1, 40).Draw(t, "capacity"))*1000, 1000)
	}))
	t.Run("large, lend in leaves", rapid.MakeCheck(func(t *rapid.T) {
		specs := drawLarge(t, kind{owned: true, floors: true, caps: true, tiers: true, weightless: true, limits: true},
			rapid.IntRange(1, 5).Draw(t, "depth"), rapid.IntRange(60, 120).Draw(t, "leaves"))
		lendInLeaves(specs)
		p := lawful(t, specs)
		checkLawful(t, p, Units(p.owned[0])+Units(rapid.Int64Range(1, 200).Draw(t, "beyond"))*1000, 2000)
	}))
}

// lendInLeaves takes away the limits that are not those of leaves on what they lend, and every max below what is owned.
func lendInLeaves(specs []Spec) {
	for i := range specs {
		plan := &specs[i].Plan
		plan.Borrow = Limit{}
		if len(specs[i].Children) > 0 {
			plan.Lend, plan.Max = Limit{}, Amount{}
		}
		owned, _ := plan.Owned.In("default")
		if most, ok := plan.Max.In("default"); ok {
			plan.Max = Of(most + owned)
		}
		lendInLeaves(specs[i].Children)
	}
}

func maxBelowOwned(p *Pool) bool {
	for seat, most := range p.cap {
		if float64(most) < p.owned[seat] {
			return true
		}
	}
	return false
}

// lendsToSome says whether a branch has idle units that some in it who want more may borrow, and others may not or not as
// much: the pool may serve those who may, and the idle units then serve nobody's target.
func lendsToSome(p *Pool) bool {
	if p.limits == nil {
		return false
	}
	p.limits.survey(&p.solver)
	return slices.ContainsFunc(p.limits.inside[1:], func(in sums) bool {
		return min(in.give, in.borrow) > 0 && in.borrow < in.want
	})
}

func lawful(t *rapid.T, specs []Spec) *Pool {
	tree, err := Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, "default")
	for _, leaf := range tree.Leaves() {
		p.SetWant(leaf, Units(rapid.SampledFrom([]int64{0, 0, 3, 1000}).Draw(t, "want"))*1000)
	}
	return p
}

// checkLawful grants unit jobs until nobody may have more, none of them most or more beyond target.
func checkLawful(t *rapid.T, p *Pool, c Units, most float64) {
	p.SetCapacity(c)
	for {
		targets := p.Targets(Round(c, p.Held(0), 1000))
		leaf, ok := grant(p, c)
		if !ok {
			return
		}
		p.tree.Up(leaf, func(n int) {
			if over := float64(p.Held(n)) - targets[n]; n > 0 && over >= most+Tolerance {
				t.Fatalf("C %v, O %v: %q holds %v of %v", c, p.owned[0]/1000, p.tree.Nodes[n].Path, p.Held(n), targets[n]/1000)
			}
		})
	}
}
