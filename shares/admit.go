package shares

// Rule is a kind of limit of the plan.
type Rule string

// The rules that may refuse a grant.
const (
	RuleMax    Rule = "max"    // the node, or the root for the capacity of the pool, would hold too much
	RuleLend   Rule = "lend"   // the node keeps idle units back that it does not lend, or not there
	RuleBorrow Rule = "borrow" // the node would use more units of others than it may
)

// Refusal is what stood in the way of a grant.
type Refusal struct {
	Node int // index into Tree.Nodes
	Rule Rule
}

// SetCapacity says what C is, in so far as lending is concerned: quotas are made of it. Unlimited, as at first, leaves
// nobody short of units to borrow.
func (p *Pool) SetCapacity(c Units) {
	if p.loans != nil && c != p.loans.capacity {
		p.loans.capacity, p.loans.of = c, 0
	}
}

// Lends says whether the pool has limits of lending or borrowing. Without any, Admits depends on nothing but what
// the leaf and its ancestors hold.
func (p *Pool) Lends() bool { return p.loans != nil }

// Admits says whether a leaf may hold u more: under every max up the path, and within lending and borrowing (see
// loans). If not, the refusal names the lowest node in the way. O(depth); after a change of the demand the first
// call makes the quotas anew, as dear as a whole solve. It does not allocate.
func (p *Pool) Admits(leaf int, u Units) (Refusal, bool) {
	s := p.seatOf[leaf]
	for a := s; a >= 0; a = p.parent[a] {
		if p.held[a]+u > p.cap[a] {
			return Refusal{int(p.nodeOf[a]), RuleMax}, false
		}
	}
	if p.loans == nil {
		return Refusal{}, true
	}
	return p.loans.admits(s, u)
}

// loans is the admission by quota of sharing.md §3, without a record of who lent to whom:
//
//	quota      = owned + its part of the pool, by demand, in whole units, at R = C
//	T(leaf)    = quota − held
//	T(node)    = quota − Σ quota of the children + Σ min(lend(c), T(c))
//	granted    if afterwards T(x) ≥ −borrow(x) at the leaf and every ancestor, or no less than before; borrow(root) = 0
//
// T has two parts here, because lend_to lets units up to some ancestor only: what there is to spare, by the depth
// that it may go up to, and what is owed. Debts are paid at each node from what may go up the least. A share uses its
// quota first: while others use more than theirs of the pool, it does not get units instead that may not leave its
// branch. That follows from the supply order of sharing.md §3, "own idle → idle pool of the branch, then upwards → borrow
// idle owned units of others": the part of the pool is its own and comes back as jobs of others end (§3, "reclaim is
// passive"). What was lent inside the branch stays idle until then.
type loans struct {
	pool     *Pool
	capacity Units
	lend     []Units // by seat, as the following
	borrow   []Units

	own  []Units // leaf: quota − held; else quota − Σ quota of the children
	in   []Units // what the children hand on, by levels
	owed []Units // by the children
	out  []Units // what the seat hands on, by levels
	debt []Units // its own: what it has borrowed from outside
	kept []Units // what the seat has to spare and does not hand on, lend being less or its lend_to no further up
	keep []Units // Σ kept in and below the seat

	flow []Units // scratch, by levels
	diff []Units

	demand  []Units // of the leaves, as of the last look
	changed []int32 // leaves whose demand may have changed since
	noted   []bool
	seen    uint64 // changes of demand
	of      uint64 // the demand that the quotas were made for
}

func newLoans(p *Pool) *loans {
	n := len(p.nodeOf)
	column := func() []Units { return make([]Units, n) }
	levels := p.limits.levels
	l := &loans{pool: p, capacity: Unlimited, lend: column(), borrow: column(), own: column(), owed: column(), debt: column(), kept: column(), keep: column(),
		in: make([]Units, n*levels), out: make([]Units, n*levels), flow: make([]Units, levels), diff: make([]Units, levels),
		demand: column(), noted: make([]bool, n), changed: make([]int32, 0, n), seen: 1}
	for seat := range n {
		plan := &p.tree.Nodes[p.nodeOf[seat]].Plan
		l.lend[seat], l.borrow[seat] = plan.Lend.In(p.name), plan.Borrow.In(p.name)
	}
	l.borrow[0] = 0 // the root has no one to borrow from
	return l
}

// note keeps in mind that the demand of a leaf has changed.
func (l *loans) note(s int32) {
	if !l.noted[s] {
		l.noted[s] = true
		l.changed = append(l.changed, s)
	}
}

// demanded numbers the demand: as long as that of every leaf is what it was, the number stays. A grant moves units
// from want to held and changes nothing.
func (l *loans) demanded() uint64 {
	for _, s := range l.changed {
		l.noted[s] = false
		if d := l.pool.demand[s]; d != l.demand[s] {
			l.demand[s] = d
			l.seen++
		}
	}
	l.changed = l.changed[:0]
	return l.seen
}

// held follows a change of what a leaf holds up the path.
func (l *loans) held(s int32, du Units) {
	l.note(s)
	l.own[s] -= du
	for a := s; a > 0; a = l.pool.parent[a] {
		if !l.settle(a) {
			return
		}
	}
	l.settle(0)
}

// settle brings what a seat hands on up to date; false if nothing has changed for its parent.
func (l *loans) settle(a int32) (changed bool) {
	n := len(l.flow)
	copy(l.flow, l.in[int(a)*n:])
	debt := l.pass(a, l.own[a], l.owed[a])
	up := l.pool.parent[a]
	for k, u := range l.flow {
		if d := u - l.out[int(a)*n+k]; d != 0 {
			l.out[int(a)*n+k] = u
			if up >= 0 {
				l.in[int(up)*n+k] += d
			}
			changed = true
		}
	}
	if d := debt - l.debt[a]; d != 0 {
		l.debt[a] = debt
		if up >= 0 {
			l.owed[up] += d
		}
		changed = true
	}
	if d := l.keeps(a) - l.kept[a]; d != 0 {
		l.kept[a] += d
		for ; a >= 0; a = l.pool.parent[a] {
			l.keep[a] += d
		}
	}
	return changed
}

// keeps is kept of a seat that was settled.
func (l *loans) keeps(a int32) Units {
	n := int32(len(l.flow))
	left := l.own[a] - l.owed[a]
	for k := range n {
		left += l.in[a*n+k] - l.out[a*n+k]
	}
	return max(0, left)
}

// pass turns flow from what the children of a seat hand on into what it hands on itself, and returns its debt.
func (l *loans) pass(a int32, own, owed Units) (debt Units) {
	limits := l.pool.limits
	l.flow[0] += max(own, 0)
	debt = owed + max(-own, 0)
	for k := len(l.flow) - 1; k >= 0 && debt > 0; k-- {
		paid := min(debt, l.flow[k])
		l.flow[k] -= paid
		debt -= paid
	}
	if k := int(limits.depth[a]); k > 0 && k < len(l.flow) {
		l.flow[k] = 0
	}
	to := int(limits.within[a])
	for k := range to {
		l.flow[to] += l.flow[k]
		l.flow[k] = 0
	}
	lend := l.lend[a]
	for k := range l.flow {
		l.flow[k] = min(l.flow[k], lend)
		lend -= l.flow[k]
	}
	return debt
}

func (l *loans) admits(s int32, u Units) (Refusal, bool) {
	if of := l.demanded(); of != l.of {
		l.requote()
		l.of = of
	}
	n := len(l.flow)
	clear(l.diff)
	owed := Units(0) // more than so far, as diff is what is handed on to the seat
	for a := s; a >= 0; a = l.pool.parent[a] {
		for k := range l.flow {
			l.flow[k] = l.in[int(a)*n+k] + l.diff[k]
		}
		debt := l.pass(a, l.own[a]-u, l.owed[a]+owed)
		if debt > l.debt[a] && debt > l.borrow[a] {
			return l.refusal(s, a), false
		}
		u = 0
		owed = debt - l.debt[a]
		same := owed == 0
		for k := range l.flow {
			l.diff[k] = l.flow[k] - l.out[int(a)*n+k]
			same = same && l.diff[k] == 0
		}
		if same {
			break
		}
	}
	return Refusal{}, true
}

// refusal says why a debt at seat a is too much: it may not borrow so much itself, or, at the root, a share in a branch
// beside the path keeps units back, the nearest branch counting first. If none does, all that there is is held.
func (l *loans) refusal(leaf, a int32) Refusal {
	if a > 0 {
		return Refusal{int(l.pool.nodeOf[a]), RuleBorrow}
	}
	for at := leaf; at > 0; at = l.pool.parent[at] {
		if c := l.keeper(l.pool.parent[at], at); c >= 0 {
			for l.kept[c] == 0 {
				c = l.keeper(c, -1)
			}
			return Refusal{int(l.pool.nodeOf[c]), RuleLend}
		}
	}
	return Refusal{0, RuleMax}
}

// keeper is the first child of a seat, other than except, in or below which units are kept back; -1 if there is none.
func (l *loans) keeper(a, except int32) int32 {
	f := &l.pool.families[l.pool.kids[a]]
	for c := f.lo; c < f.hi; c++ {
		if c != except && l.keep[c] > 0 {
			return c
		}
	}
	return -1
}

// requote makes the quotas and all that follows from them anew.
func (l *loans) requote() {
	p := l.pool
	c := min(l.capacity, p.demand[0]+Units(p.owned[0])) // more changes nothing
	p.limits.survey(&p.solver)
	p.limits.portion(&p.solver, float64(c), true)
	p.limits.at = -1
	clear(l.in)
	clear(l.out)
	clear(l.owed)
	clear(l.debt)
	clear(l.kept)
	clear(l.keep)
	for seat := int32(len(l.own)) - 1; seat >= 0; seat-- {
		l.own[seat] = Units(p.limits.quota[seat])
		if k := p.kids[seat]; k < 0 {
			l.own[seat] -= p.held[seat]
		} else {
			for c := p.families[k].lo; c < p.families[k].hi; c++ {
				l.own[seat] -= Units(p.limits.quota[c])
			}
		}
		l.settle(seat)
	}
}
