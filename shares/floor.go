package shares

import "slices"

// floors carries the min of every share up the tree; a pool without any min has none. By seat.
//
// What a min asks of the pool is what own units leave of it. A branch asks for its own min or for what its children ask
// together, whichever is more, as far as it has demand; units that it owns beyond its children serve them first:
//
//	own(x)  = min(D(x), O(x))
//	asks(x) = min(D(x) − own(x), max(min(x) − own(x), Σ asks(children) − (O(x) − Σ O(children)))), not below 0
//
// So where the pool of a family has what its children ask, every min in and below it is served. Step 2 of the solver
// takes asks for the floor of a child. It follows from the demand alone and is kept up to date with it.
type floors struct {
	pool  *Pool
	least []Units // min
	asks  []Units
	below []Units // Σ asks of the children
	extra []Units // O − Σ O of the children
	some  []bool  // in or below the seat there is a min
}

// newFloors is nil if no share in the pool has a min. It needs the owned units of the solver.
func newFloors(p *Pool) *floors {
	n := len(p.nodeOf)
	f := &floors{pool: p, least: make([]Units, n), asks: make([]Units, n), below: make([]Units, n), extra: make([]Units, n),
		some: make([]bool, n)}
	for seat := n - 1; seat >= 0; seat-- {
		f.least[seat], _ = p.tree.Nodes[p.nodeOf[seat]].Plan.Min.In(p.name)
		f.some[seat] = f.some[seat] || f.least[seat] > 0
		f.extra[seat] += Units(p.owned[seat])
		if up := p.parent[seat]; up >= 0 {
			f.some[up] = f.some[up] || f.some[seat]
			f.extra[up] -= Units(p.owned[seat])
		}
	}
	if !f.some[0] {
		return nil
	}
	return f
}

// carry follows a change of the demand of a seat up the path. O(depth).
func (f *floors) carry(s int32) {
	for ; s >= 0; s = f.pool.parent[s] {
		if !f.some[s] {
			continue
		}
		d := f.pool.demand[s]
		asks := f.asked(s, d, min(d, Units(f.pool.owned[s])), f.below[s])
		if up := f.pool.parent[s]; up >= 0 {
			f.below[up] += asks - f.asks[s]
		}
		f.asks[s] = asks
	}
}

// asked is asks of a seat with a demand, of which own units serve so much, and what its children ask.
func (f *floors) asked(s int32, demand, own, below Units) Units {
	return max(0, min(demand-own, max(f.least[s]-own, below-f.extra[s])))
}

// guaranteed is max(owned, min) of a node, its min being at least what those below it need.
func (p *Pool) guaranteed(node int) float64 {
	s := p.seatOf[node]
	if p.floors == nil {
		return p.owned[s]
	}
	return max(p.owned[s]+float64(p.floors.asks[s]), float64(p.floors.least[s]))
}

// Overcommit is a node of a tree at which more is promised than there can be, so that not every min in or below it will be
// served in full when all want everything.
type Overcommit struct {
	Node int   // index into Tree.Nodes; 0, the root, is the pool
	Need Units // of min and owned in and below it, whichever is more at each share
	Has  Units // its max; at the root the capacity
	Mins []int // the shares in and below it with a min
}

// Overcommits looks for such nodes in a pool of capacity c, parents first. What is owned counts before any min; owned units
// alone, without a min in or below a node, are none of this.
func (t *Tree) Overcommits(pool string, c Units) []Overcommit {
	all := make([]Overcommit, len(t.Nodes))
	for i := len(t.Nodes) - 1; i >= 0; i-- { // children before parents
		plan, at := &t.Nodes[i].Plan, &all[i]
		owned, _ := plan.Owned.In(pool)
		least, _ := plan.Min.In(pool)
		most, capped := plan.Max.In(pool)
		if i == 0 {
			most, capped = c, c < Unlimited
		}
		at.Node, at.Need, at.Has = i, max(at.Need, owned, least), Unlimited
		if least > 0 {
			at.Mins = append(at.Mins, i)
		}
		up := &all[max(0, t.Nodes[i].Parent)]
		if capped && at.Need > most {
			at.Has = most
		}
		if i > 0 {
			up.Need += min(at.Need, at.Has) // what does not fit here is no matter of the parent's
			up.Mins = append(up.Mins, at.Mins...)
		}
	}
	over := all[:0]
	for _, at := range all {
		if at.Has < Unlimited && len(at.Mins) > 0 {
			slices.Sort(at.Mins)
			over = append(over, at)
		}
	}
	return over
}
