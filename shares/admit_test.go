package shares

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// debts is sharing.md §3 by its definition, for trees without lend_to: T of every node from quotas and what is held.
func debts(p *Pool, quota, held []float64) (t []float64) {
	t = make([]float64, len(quota)) // by node
	for i := len(t) - 1; i >= 0; i-- {
		n := p.tree.Nodes[i]
		t[i] = quota[p.seatOf[i]]
		if len(n.Children) == 0 {
			t[i] -= held[i]
		}
		for _, c := range n.Children {
			t[i] += min(limitOf(p.tree.Nodes[c].Plan.Lend, p.name), t[c]) - quota[p.seatOf[c]]
		}
	}
	return t
}

func mayOwe(p *Pool, node int) float64 {
	if node == 0 {
		return 0
	}
	return limitOf(p.tree.Nodes[node].Plan.Borrow, p.name)
}

// drawLimited is a pool with limits, without lend_to, and a capacity.
func drawLimited(t *rapid.T) (*Pool, Units) {
	specs := drawSpecs(t, anyPlan, rapid.IntRange(1, 4).Draw(t, "depth"))
	lend := Units(rapid.Int64Range(0, 20).Draw(t, "lend")) * 1000
	specs[0].Plan.Lend.Any = &lend
	tree, err := Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, "default")
	drawStanding(t, p)
	c := Units(rapid.Int64Range(0, 300).Draw(t, "capacity")) * 1000
	p.SetCapacity(c)
	return p, c
}

func TestAdmitsIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawLimited(t)
		for range 10 {
			leaf := rapid.SampledFrom(p.tree.Leaves()).Draw(t, "leaf")
			u := Units(rapid.SampledFrom([]int64{500, 1000, 8000}).Draw(t, "units"))
			refusal, ok := p.Admits(leaf, u)
			if quota := slices.Clone(p.limits.quota); refusal.Rule != RuleMax || refusal.Node == 0 {
				held := make([]float64, len(quota))
				for i := range held {
					held[i] = float64(p.Held(i))
				}
				before := debts(p, quota, held)
				held[leaf] += float64(u)
				after := debts(p, quota, held)
				want := true
				p.tree.Up(leaf, func(n int) {
					want = want && (after[n] >= -mayOwe(p, n) || max(0, -after[n]) <= max(0, -before[n]))
				})
				if ok != want {
					t.Fatalf("%q %v: admitted %v (%+v), T before %v, after %v", p.tree.Nodes[leaf].Path, u, ok, refusal, before, after)
				}
			}
			p.Hold(leaf, u)
			if rapid.Bool().Draw(t, "from want") {
				p.SetWant(leaf, p.Want(leaf)-u)
			}
		}
	})
}

// TestLoansAreMaintained: what Hold keeps up to date is what a pool made afresh has.
func TestLoansAreMaintained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		if !p.Lends() {
			t.Skip("no limits")
		}
		p.SetCapacity(100_000)
		leaf := p.tree.Leaves()[0]
		for range 5 {
			p.Admits(leaf, 1000)
			drawStanding(t, p)
		}
		fresh := NewPool(p.tree, p.name)
		fresh.SetCapacity(100_000)
		copyStanding(fresh, p)
		p.loans.admits(p.seatOf[leaf], 0)
		fresh.loans.admits(p.seatOf[leaf], 0)
		for _, leaf := range p.tree.Leaves() {
			refusal, ok := p.Admits(leaf, 1000)
			if r, is := fresh.Admits(leaf, 1000); r != refusal || ok != is {
				t.Fatalf("%q: %v %v, afresh %v %v", p.tree.Nodes[leaf].Path, refusal, ok, r, is)
			}
		}
		for name, same := range map[string]bool{"own": slices.Equal(p.loans.own, fresh.loans.own), "in": slices.Equal(p.loans.in, fresh.loans.in),
			"owed": slices.Equal(p.loans.owed, fresh.loans.owed), "out": slices.Equal(p.loans.out, fresh.loans.out)} {
			if !same {
				t.Errorf("%s is not what it is afresh", name)
			}
		}
	})
}

// TestTargetsAreAdmitted: whoever holds its target at R = C owes no more than it may, as long as there is all that is
// owned. With less, targets serve demand first, and admission keeps what idle owners do not lend.
func TestTargetsAreAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := drawLimited(t)
		c = max(c, Units(p.owned[0]))
		targets := p.Targets(c)
		p.limits.portion(&p.solver, float64(c), false)
		for i, left := range debts(p, p.limits.quota, targets) {
			if left < -mayOwe(p, i)-Tolerance {
				for k, n := range p.tree.Nodes {
					t.Logf("%q O %v lend %v borrow %v max %v w %v tier %d min %v D %v target %v quota %v", n.Path, n.Plan.Owned, n.Plan.Lend, n.Plan.Borrow, n.Plan.Max, n.Plan.Weight, n.Plan.Tier, n.Plan.Min, p.Demand(k), targets[k], p.limits.quota[p.seatOf[k]])
				}
				t.Fatalf("%q owes %v and may owe %v at %v", p.tree.Nodes[i].Path, -left, mayOwe(p, i), c)
			}
		}
	})
}

func TestRefusalsNameTheRule(t *testing.T) {
	tree, err := Build([]Spec{
		{Name: "A", Plan: planOf(t, `{owned: 40, lend: 30}`)},
		{Name: "B", Plan: planOf(t, `{owned: 40, lend: none, borrow: 10, max: 80}`)},
		{Name: "C", Plan: planOf(t, `{weight: 0}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b, c Units // held
		leaf    int
		units   Units
		want    Refusal
	}{
		{5, 69, 0, 2, 1, Refusal{}},
		{5, 70, 0, 2, 1, Refusal{2, RuleBorrow}},
		{5, 70, 0, 2, 11, Refusal{2, RuleMax}},
		{60, 30, 0, 1, 1, Refusal{2, RuleLend}},
		{59, 40, 1, 1, 2, Refusal{0, RuleMax}},
	} {
		p := NewPool(tree, "default")
		p.SetCapacity(100_000)
		p.Hold(1, c.a*1000)
		p.Hold(2, c.b*1000)
		p.Hold(3, c.c*1000)
		p.SetWant(c.leaf, MaxAmount)
		if got, ok := p.Admits(c.leaf, c.units*1000); got != c.want || ok != (c.want == Refusal{}) {
			t.Errorf("%+v: %+v %v", c, got, ok)
		}
	}
}

// TestRefusalsNameTheKeeper: of units that a branch owns and does not use, the share in it that keeps them back is named.
func TestRefusalsNameTheKeeper(t *testing.T) {
	tree, err := Build([]Spec{{Name: "X", Plan: DefaultPlan()}, {Name: "G", Plan: DefaultPlan(), Children: []Spec{
		{Name: "A", Plan: planOf(t, `{owned: 80, lend: 60}`)}, {Name: "B", Plan: planOf(t, `{owned: 80, lend: none}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, "default")
	p.SetCapacity(100_000)
	x, _ := tree.ByPath("X")
	keeper, _ := tree.ByPath("G/B")
	p.Hold(x, 49_000)
	p.SetWant(x, MaxAmount)
	if _, ok := p.Admits(x, 1000); !ok {
		t.Fatal("X may not have the 50 units that A lends")
	}
	p.Hold(x, 1000)
	if got, ok := p.Admits(x, 1000); ok || got != (Refusal{keeper, RuleLend}) {
		t.Errorf("%+v %v, want that of G/B, which lends none", got, ok)
	}
}

// TestNoRefusalSaysThatAllIsHeld while units are idle that would do.
func TestNoRefusalSaysThatAllIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := drawLimited(t)
		leaf := rapid.SampledFrom(p.tree.Leaves()).Draw(t, "leaf")
		if got, ok := p.Admits(leaf, 1000); !ok && got == (Refusal{0, RuleMax}) && p.Held(0)+1000 <= min(c, p.Demand(0)) {
			t.Fatalf("%q: all is said to be held at %v of %v", p.tree.Nodes[leaf].Path, p.Held(0), c)
		}
	})
}

func TestAdmitsDoesNotAllocate(t *testing.T) {
	specs := leaves(100)
	for i := range specs {
		specs[i].Plan.Owned = Of(Units(i%7) * 1000)
		one := Units(i%3) * 1000
		specs[i].Plan.Lend.Any = &one
	}
	p := loaded(specs)
	p.SetCapacity(3_000_000)
	leaf, n := p.tree.Leaves()[7], Units(0)
	admit := func() {
		n++
		p.SetWant(leaf, n%50*1000)
		p.Hold(leaf, 1000)
		p.Admits(leaf, 1000)
		p.Hold(leaf, -1000)
	}
	admit()
	if n := testing.AllocsPerRun(200, admit); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdmits(b *testing.B) {
	for name, limited := range map[string]bool{"no limits": false, "limits": true} {
		b.Run(name, func(b *testing.B) {
			specs := leaves(1000)
			if limited {
				specs[0].Plan.Lend.Any = new(Units)
				specs[0].Plan.Owned = Of(1000)
			}
			p := loaded(specs)
			p.SetCapacity(1000_000_000)
			leaf := p.tree.Leaves()[500]
			b.ReportAllocs()
			for b.Loop() {
				p.Hold(leaf, 1000)
				p.SetWant(leaf, p.Want(leaf)-1000)
				p.Admits(leaf, 1000)
				p.Hold(leaf, -1000)
				p.SetWant(leaf, p.Want(leaf)+1000)
			}
		})
	}
}
