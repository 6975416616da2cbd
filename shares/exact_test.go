package shares

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// exact solves §1 of sharing.md in rationals, straight from its text and the plans, without anything that the
// solver maintains or keeps: the independent check of targets.
type exact struct {
	t          *Tree
	pool       string
	held, want []int64 // by node; leaves only
	target     []*big.Rat
	capacity   *big.Rat     // 0 if not known
	limits     *exactLimits // nil where nobody has a limit
}

func solveExact(p *Pool, r Units) []*big.Rat {
	n := len(p.tree.Nodes)
	e := exact{t: p.tree, pool: p.name, held: make([]int64, n), want: make([]int64, n), target: make([]*big.Rat, n)}
	for _, leaf := range p.tree.Leaves() {
		e.held[leaf], e.want[leaf] = int64(p.Held(leaf)), int64(p.Want(leaf))
	}
	e.capacity = new(big.Rat)
	if p.loans != nil && p.loans.capacity < Unlimited {
		e.capacity = rat(int64(p.loans.capacity))
	}
	if e.limited() {
		e.limits = newExactLimits(&e, rat(int64(r)))
	}
	e.give(0, least(rat(int64(r)), e.demand(0)))
	return e.target
}

func rat(n int64) *big.Rat            { return new(big.Rat).SetInt64(n) }
func plus(a, b *big.Rat) *big.Rat     { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat    { return new(big.Rat).Sub(a, b) }
func times(a, b *big.Rat) *big.Rat    { return new(big.Rat).Mul(a, b) }
func least(a, b *big.Rat) *big.Rat    { return slices.MinFunc([]*big.Rat{a, b}, (*big.Rat).Cmp) }
func greatest(a, b *big.Rat) *big.Rat { return slices.MaxFunc([]*big.Rat{a, b}, (*big.Rat).Cmp) }

func (e *exact) demand(i int) *big.Rat {
	d := rat(e.held[i] + e.want[i])
	for _, c := range e.t.Nodes[i].Children {
		d = plus(d, e.demand(c))
	}
	if m, ok := e.t.Nodes[i].Plan.Max.In(e.pool); ok {
		d = least(d, rat(int64(m)))
	}
	return d
}

func (e *exact) owned(i int) *big.Rat {
	sum := new(big.Rat)
	for _, c := range e.t.Nodes[i].Children {
		sum = plus(sum, e.owned(c))
	}
	own, _ := e.t.Nodes[i].Plan.Owned.In(e.pool)
	return greatest(sum, rat(int64(own)))
}

// asks is what the mins in and below a node want of the pool of its family: what it needs for that, or would need
// for its children's own units and what they ask, as far as it has demand, without what it owns itself.
func (e *exact) asks(i int) *big.Rat {
	low, _ := e.t.Nodes[i].Plan.Min.In(e.pool)
	below := new(big.Rat)
	for _, c := range e.t.Nodes[i].Children {
		below = plus(below, plus(e.owned(c), e.asks(c)))
	}
	need := least(greatest(rat(int64(low)), below), e.demand(i))
	return greatest(new(big.Rat), minus(need, least(e.demand(i), e.owned(i))))
}

func (e *exact) give(i int, r *big.Rat) {
	e.target[i] = r
	kids := e.t.Nodes[i].Children
	if len(kids) == 0 {
		return
	}
	var parts []*big.Rat
	if e.limits != nil {
		parts = e.limits.fill(i, r)
	} else {
		parts = e.fill(kids, r)
	}
	for k, c := range kids {
		e.give(c, parts[k])
	}
}

func (e *exact) fill(kids []int, r *big.Rat) []*big.Rat {
	n := len(kids)
	var demand, owned, want1 []*big.Rat
	sumOwned := new(big.Rat)
	for _, c := range kids {
		demand, owned = append(demand, e.demand(c)), append(owned, e.owned(c))
		want1 = append(want1, least(e.demand(c), e.owned(c)))
		sumOwned = plus(sumOwned, e.owned(c))
	}
	zeros := make([]*big.Rat, n)
	for k := range zeros {
		zeros[k] = new(big.Rat)
	}
	own := e.pour(kids, zeros, want1, r, true)

	pool := greatest(new(big.Rat), minus(r, sumOwned))
	floors, tops, sumFloors := make([]*big.Rat, n), make([]*big.Rat, n), new(big.Rat)
	for k, c := range kids {
		floors[k] = e.asks(c)
		tops[k] = minus(demand[k], own[k])
		sumFloors = plus(sumFloors, floors[k])
	}
	var fromPool []*big.Rat
	if sumFloors.Cmp(pool) > 0 {
		fromPool = e.pour(kids, zeros, floors, pool, false)
	} else {
		fromPool = e.pour(kids, floors, tops, pool, true)
	}

	left, lendable, asks := r, new(big.Rat), make([]*big.Rat, n)
	for k := range kids {
		left = minus(minus(left, own[k]), fromPool[k])
		lendable = plus(lendable, minus(owned[k], own[k]))
		asks[k] = minus(tops[k], fromPool[k])
	}
	lent := e.pour(kids, zeros, asks, least(left, lendable), true)
	out := make([]*big.Rat, n)
	for k := range kids {
		out[k] = plus(plus(own[k], fromPool[k]), lent[k])
	}
	return out
}

// pour fills tier by tier (or all tiers together), weightless children last in tier order, keeping back the
// lows of those that come later.
func (e *exact) pour(kids []int, low, top []*big.Rat, budget *big.Rat, tiers bool) []*big.Rat {
	out := make([]*big.Rat, len(kids))
	order := func(k int) int {
		plan := e.t.Nodes[kids[k]].Plan
		switch {
		case plan.Weight == 0:
			return 1000 + plan.Tier
		case tiers:
			return plan.Tier
		}
		return 0
	}
	for rank := 0; rank < 2000; rank++ {
		var now []int
		later := new(big.Rat)
		for k := range kids {
			if order(k) == rank {
				now = append(now, k)
			} else if order(k) > rank {
				later = plus(later, low[k])
			}
		}
		if len(now) == 0 {
			continue
		}
		var w, lo, hi []*big.Rat
		for _, k := range now {
			weight := new(big.Rat).SetFloat64(e.t.Nodes[kids[k]].Plan.Weight)
			if weight.Sign() == 0 {
				weight = rat(1)
			}
			w, lo, hi = append(w, weight), append(lo, low[k]), append(hi, top[k])
		}
		for j, part := range levelExact(w, lo, hi, minus(budget, later)) {
			out[now[j]] = part
			budget = minus(budget, part)
		}
	}
	return out
}

// levelExact is Σ clamp(λ·w, low, top) = b by trying every breakpoint.
func levelExact(w, low, top []*big.Rat, b *big.Rat) []*big.Rat {
	at := func(lambda *big.Rat) (parts []*big.Rat, sum *big.Rat) {
		sum = new(big.Rat)
		for i := range w {
			part := least(greatest(times(lambda, w[i]), low[i]), top[i])
			parts, sum = append(parts, part), plus(sum, part)
		}
		return parts, sum
	}
	below, belowSum := at(new(big.Rat))
	if belowSum.Cmp(b) >= 0 {
		return below
	}
	var points []*big.Rat
	for i := range w {
		points = append(points, new(big.Rat).Quo(low[i], w[i]), new(big.Rat).Quo(top[i], w[i]))
	}
	slices.SortFunc(points, (*big.Rat).Cmp)
	last := new(big.Rat)
	for _, point := range points {
		_, sum := at(point)
		if sum.Cmp(b) >= 0 {
			_, lastSum := at(last)
			share := new(big.Rat).Quo(minus(b, lastSum), minus(sum, lastSum))
			parts, _ := at(plus(last, times(share, minus(point, last))))
			return parts
		}
		last = point
	}
	parts, _ := at(last)
	return parts
}

func off(target float64, want *big.Rat) float64 {
	f, _ := want.Float64()
	return max(target-f, f-target)
}

func TestTargetsEqualExactRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		if rapid.Bool().Draw(t, "known capacity") {
			p.SetCapacity(Units(rapid.Int64Range(0, 300_000).Draw(t, "capacity")))
		}
		for range 3 { // later rounds start from the hints of earlier ones
			r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
			want := solveExact(p, r)
			for i, got := range p.Targets(r) {
				if off(got, want[i]) > Tolerance/10 {
					t.Fatalf("R %v: target of %q is %v, exactly %v", r, p.tree.Nodes[i].Path, got, want[i].FloatString(6))
				}
			}
			drawStanding(t, p)
		}
	})
}
