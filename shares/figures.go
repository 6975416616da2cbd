package shares

// Figures is how a share stands for showing, in thousandths of a unit.
//
//	Owned     what is its own, with what is owned below it; 0: it has no quota
//	Deserved  what it would get if every leaf wanted everything: owned and its share of the pool, under min and max
//	Own       min(held, owned)
//	Lent      units that it owns and its siblings use
//	Borrowed  units that its siblings own and it uses
//
// A family uses what is owned by all of its children together last: first each child what it owns, then the pool,
// then each other's. So of the children c of a node x, with idle(c) = owned(c) − Own(c) and over(c) = held(c) − Own(c):
//
//	pool      = C − Σ owned(c) at the root, else max(held(x), owned(x)) − Σ owned(c), not below 0
//	Σ Lent    = Σ Borrowed = min(Σ over − pool, Σ min(lend(c), idle(c))), not below 0
//
// Nobody records whose unit is whose, so Lent is split by min(lend, idle), and Borrowed by what each child holds
// beyond its quota (owned and its part of the pool by the demand at hand). Units that the children of a node lend to
// each other are not lent by the node. Above a family this is zero: Lent and Borrowed of the root are 0.
type Figures struct {
	Owned    Units   `json:"owned"`
	Deserved float64 `json:"deserved"`
	Own      Units   `json:"own"`
	Lent     float64 `json:"lent"`
	Borrowed float64 `json:"borrowed"`
}

// Figures of every node, by index into Tree.Nodes, in a pool of capacity c. Unlimited is a pool in which nobody has
// to borrow.
func (p *Pool) Figures(c Units) []Figures {
	out := make([]Figures, len(p.nodeOf))
	deserved := deservedBy(p, c)
	quota := quotasOf(p, c)
	for seat, node := range p.nodeOf {
		out[node].Deserved = deserved[node]
		out[node].Owned = Units(p.owned[seat])
		out[node].Own = min(p.held[seat], out[node].Owned)
	}
	for _, f := range p.families {
		lending(p, &f, c, quota, out)
	}
	return out
}

// deservedBy are the targets at R = c with endless demand everywhere.
func deservedBy(p *Pool, c Units) []float64 {
	full := NewPool(p.tree, p.name)
	for _, leaf := range p.tree.Leaves() {
		full.SetWant(leaf, MaxAmount)
	}
	return full.Targets(c)
}

// quotasOf are the quotas at R = c, by seat.
func quotasOf(p *Pool, c Units) []float64 {
	l := p.limits
	if l == nil {
		l = limitsOf(p)
	}
	l.survey(&p.solver)
	l.portion(&p.solver, float64(min(c, p.demand[0]+Units(p.owned[0]))), false)
	l.at = -1
	return l.quota
}

// lending fills in what the children of a family lend to each other.
func lending(p *Pool, f *family, c Units, quota []float64, out []Figures) {
	up := p.parent[f.lo]
	has := float64(max(p.held[up], Units(p.owned[up])))
	if up == 0 {
		has = float64(c)
	}
	over, lendable, beyond := 0.0, 0.0, 0.0
	lend := func(seat int32) float64 {
		plan := &p.tree.Nodes[p.nodeOf[seat]].Plan
		return min(limitOf(plan.Lend, p.name), p.owned[seat]-float64(out[p.nodeOf[seat]].Own))
	}
	excess := func(seat int32) float64 { return max(0, float64(p.held[seat])-max(p.owned[seat], quota[seat])) }
	for k := f.lo; k < f.hi; k++ {
		over += float64(p.held[k] - out[p.nodeOf[k]].Own)
		lendable += lend(k)
		beyond += excess(k)
	}
	moved := min(over-max(0, has-f.owned), lendable, beyond)
	if moved <= 0 {
		return
	}
	for k := f.lo; k < f.hi; k++ {
		out[p.nodeOf[k]].Lent = moved * lend(k) / lendable
		out[p.nodeOf[k]].Borrowed = moved * excess(k) / beyond
	}
}
