package shares

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// exactLimits is the solver with limits of lending and borrowing in rationals, node by node from the definitions in
// limits.go. A nil bound is no bound.
type exactLimits struct {
	*exact
	r                            *big.Rat
	use, lendable, kept, borrows map[int]*big.Rat
	free                         map[int]map[int]*big.Rat // node → depth it may go up to → units that it hands on
	quota, part, more            map[int]*big.Rat
}

func (e *exact) limited() bool {
	for _, n := range e.t.Nodes {
		if n.Plan.Lend.In(e.pool) < Unlimited || n.Plan.Borrow.In(e.pool) < Unlimited || n.Plan.LendTo != "" {
			return true
		}
	}
	return false
}

func newExactLimits(e *exact, r *big.Rat) *exactLimits {
	m := func() map[int]*big.Rat { return map[int]*big.Rat{} }
	l := &exactLimits{exact: e, r: r, use: m(), lendable: m(), kept: m(), borrows: m(), free: map[int]map[int]*big.Rat{},
		quota: m(), part: m(), more: m()}
	l.survey(0)
	l.quota[0], l.part[0] = greatest(r, e.capacity), new(big.Rat)
	l.portion(0)
	return l
}

func atMost(v *big.Rat, l Limit, pool string) *big.Rat {
	if u := l.In(pool); u < Unlimited {
		return least(v, rat(int64(u)))
	}
	return v
}

// survey settles use, what is handed on and what may be borrowed, children first.
func (l *exactLimits) survey(i int) {
	node, zero := l.t.Nodes[i], new(big.Rat)
	d, owned := l.demand(i), l.owned(i)
	spare := map[int]*big.Rat{}
	var unmet *big.Rat
	if len(node.Children) == 0 {
		l.use[i] = least(d, owned)
		spare[0] = minus(owned, l.use[i])
		unmet = minus(d, l.use[i])
	} else {
		spare, unmet = l.inside(i, d, owned)
	}
	if node.Depth > 0 {
		delete(spare, node.Depth)
	}
	l.kept[i] = minus(owned, l.use[i])
	for _, u := range spare {
		l.kept[i] = minus(l.kept[i], u)
	}
	to := 0
	if a, ok := l.t.ByPath(node.Plan.LendTo); ok {
		to = l.t.Nodes[a].Depth
	}
	l.free[i], l.lendable[i] = map[int]*big.Rat{}, new(big.Rat)
	for depth := range 10 {
		if u := spare[depth]; u != nil {
			at := max(depth, to)
			if l.free[i][at] == nil {
				l.free[i][at] = zero
			}
			l.free[i][at] = plus(l.free[i][at], u)
		}
	}
	for depth := range 10 {
		if u := l.free[i][depth]; u != nil {
			all := atMost(plus(l.lendable[i], u), node.Plan.Lend, l.pool)
			l.free[i][depth] = minus(all, l.lendable[i])
			l.lendable[i] = all
		}
	}
	l.borrows[i] = atMost(least(unmet, minus(d, l.use[i])), node.Plan.Borrow, l.pool)
}

// inside is survey for a branch: it returns what is left to spare by depth and what the rest of the demand may borrow.
func (l *exactLimits) inside(i int, d, owned *big.Rat) (spare map[int]*big.Rat, unmet *big.Rat) {
	spare = map[int]*big.Rat{}
	used, wanted, borrows, lendable, extra := new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), owned
	for _, c := range l.t.Nodes[i].Children {
		l.survey(c)
		used = plus(used, l.use[c])
		wanted = plus(wanted, minus(l.demand(c), l.use[c]))
		borrows = plus(borrows, l.borrows[c])
		lendable = plus(lendable, l.lendable[c])
		extra = minus(extra, l.owned(c))
		for depth, u := range l.free[c] {
			if spare[depth] == nil {
				spare[depth] = new(big.Rat)
			}
			spare[depth] = plus(spare[depth], u)
		}
	}
	canLend := least(lendable, borrows)
	moved := least(least(wanted, plus(canLend, extra)), greatest(new(big.Rat), minus(d, used)))
	lent := least(canLend, moved)
	l.use[i] = least(d, plus(used, moved))
	toPay := lent
	for depth := 9; depth > 0; depth-- {
		if u := spare[depth]; u != nil {
			paid := least(u, toPay)
			spare[depth], toPay = minus(u, paid), minus(toPay, paid)
		}
	}
	if spare[0] == nil {
		spare[0] = new(big.Rat)
	}
	spare[0] = minus(plus(spare[0], extra), plus(minus(moved, lent), toPay))
	return spare, minus(borrows, lent)
}

func (l *exactLimits) portion(i int) {
	kids := l.t.Nodes[i].Children
	if len(kids) == 0 {
		l.more[i] = atMost(greatest(new(big.Rat), minus(l.demand(i), l.quota[i])), l.t.Nodes[i].Plan.Borrow, l.pool)
		return
	}
	_, uses, tops, owned := l.columns(kids)
	free, under := l.quota[i], l.demand(i)
	for k := range kids {
		free, under = minus(free, owned[k]), minus(under, uses[k])
	}
	if l.short(i) {
		l.portionShort(kids, l.quota[i], least(minus(plus(l.owned(i), l.part[i]), minus(l.quota[i], free)), under))
	} else {
		free = greatest(new(big.Rat), least(free, under))
		for k, part := range l.fromPool(kids, tops, free) {
			l.part[kids[k]], l.quota[kids[k]] = part, plus(owned[k], part)
		}
	}
	beyond, lendable := new(big.Rat), new(big.Rat)
	for _, c := range kids {
		l.portion(c)
		beyond, lendable = plus(beyond, l.more[c]), plus(lendable, l.lendable[c])
	}
	l.more[i] = atMost(minus(beyond, least(lendable, beyond)), l.t.Nodes[i].Plan.Borrow, l.pool)
}

// short is having less than is owned beside the part of the pool above.
func (l *exactLimits) short(i int) bool { return l.quota[i].Cmp(plus(l.owned(i), l.part[i])) < 0 }

// portionShort is for less than what is owned: what children use of their own, then most from what the parent owns
// beyond them, then idle owners.
func (l *exactLimits) portionShort(kids []int, quota, most *big.Rat) {
	zeros, uses, tops, owned := l.columns(kids)
	given := l.pour(kids, zeros, uses, quota, true)
	left := quota
	for _, u := range given {
		left = minus(left, u)
	}
	parts := l.fromPool(kids, tops, greatest(new(big.Rat), least(left, most)))
	idle := make([]*big.Rat, len(kids))
	for k := range kids {
		left, idle[k] = minus(left, parts[k]), minus(owned[k], given[k])
	}
	for k, rest := range l.pour(kids, zeros, idle, left, true) {
		l.part[kids[k]], l.quota[kids[k]] = parts[k], plus(plus(given[k], parts[k]), rest)
	}
}

func (l *exactLimits) columns(kids []int) (zeros, uses, tops, owned []*big.Rat) {
	for _, c := range kids {
		zeros, uses = append(zeros, new(big.Rat)), append(uses, l.use[c])
		tops, owned = append(tops, minus(l.demand(c), l.use[c])), append(owned, l.owned(c))
	}
	return zeros, uses, tops, owned
}

// asks is that of exact where what own units serve follows from the limits; what a branch owns beyond its children
// serves them first.
func (l *exactLimits) asks(i int) *big.Rat {
	low, _ := l.t.Nodes[i].Plan.Min.In(l.pool)
	below := minus(new(big.Rat), l.owned(i))
	for _, c := range l.t.Nodes[i].Children {
		below = plus(below, plus(l.owned(c), l.asks(c)))
	}
	wanted := greatest(minus(rat(int64(low)), l.use[i]), below)
	return greatest(new(big.Rat), least(wanted, minus(l.demand(i), l.use[i])))
}

// fromPool is step 2: floors by weight if they don't fit, else everybody between floor and top.
func (l *exactLimits) fromPool(kids []int, tops []*big.Rat, free *big.Rat) []*big.Rat {
	zeros, floors, sum := make([]*big.Rat, len(kids)), make([]*big.Rat, len(kids)), new(big.Rat)
	for k, c := range kids {
		zeros[k] = new(big.Rat)
		floors[k] = least(tops[k], l.asks(c))
		sum = plus(sum, floors[k])
	}
	if sum.Cmp(free) > 0 {
		return l.pour(kids, zeros, floors, free, false)
	}
	return l.pour(kids, floors, tops, free, true)
}

func (l *exactLimits) fill(i int, r *big.Rat) []*big.Rat {
	kids := l.t.Nodes[i].Children
	zeros, uses, _, owned := l.columns(kids)
	got := l.pour(kids, zeros, uses, r, true)
	left, lendable := r, new(big.Rat)
	pool := plus(r, l.kept[i])
	if i == 0 {
		pool = greatest(l.r, l.capacity)
	}
	tops, parts := make([]*big.Rat, len(kids)), new(big.Rat)
	for k, c := range kids {
		parts = plus(parts, l.part[c])
		left, pool, lendable = minus(left, got[k]), minus(pool, owned[k]), plus(lendable, l.lendable[c])
		tops[k] = greatest(new(big.Rat), least(minus(l.demand(c), got[k]), plus(l.part[c], l.more[c])))
	}
	add := func(parts []*big.Rat) {
		for k := range kids {
			got[k], left = plus(got[k], parts[k]), minus(left, parts[k])
			tops[k] = minus(tops[k], parts[k])
		}
	}
	if l.short(i) {
		pool = greatest(pool, parts)
	}
	if free := least(left, pool); free.Sign() > 0 {
		add(l.fromPool(kids, tops, free))
	}
	if left.Sign() > 0 {
		add(l.pour(kids, zeros, tops, least(left, lendable), true))
	}
	return got
}

// TestLimitsOutOfReachChangeNothing: a limit that nobody can come up to gives the targets of a tree without limits, as
// long as there is all that is owned.
func TestLimitsOutOfReachChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, lendingPlan)
		p := NewPool(tree, "default")
		drawStanding(t, p)
		if maxBelowOwned(p) {
			t.Skip("a max below what is owned")
		}
		far := &Tree{Nodes: append([]Node(nil), tree.Nodes...)}
		all := MaxAmount
		far.Nodes[rapid.IntRange(1, len(far.Nodes)-1).Draw(t, "node")].Plan.Lend = Limit{Any: &all}
		q := NewPool(far, "default")
		if !q.Lends() || p.Lends() {
			t.Fatal("a limit is a limit only where it was given")
		}
		copyStanding(q, p)
		r := Units(p.owned[0]) + Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		want := p.Targets(r)
		for i, got := range q.Targets(r) {
			if got < want[i]-Tolerance || got > want[i]+Tolerance {
				t.Fatalf("R %v: target of %q is %v, without the limit %v", r, tree.Nodes[i].Path, got, want[i])
			}
		}
	})
}
