package shares

import (
	"math"
	"slices"
)

// What a Reclaim may say for scope and by; absent is lca and ratio.
const (
	scopeLeaf   = "leaf"
	scopeParent = "parent"
	scopeLCA    = "lca"
	byRatio     = "ratio"
	byRank      = "rank"
)

// comparesBranches says whether anybody reclaims by another scope than leaf.
func (t *Tree) comparesBranches() bool {
	return slices.ContainsFunc(t.Leaves(), func(leaf int) bool {
		r := t.ReclaimOf(leaf)
		return r != nil && r.Scope != scopeLeaf
	})
}

// comparison is the standing of claimer and victims as a scope sees it, and rules 1 and 3 to 5 of Victims. Figures are
// by node; those of the leaf scope are of leaves only.
type comparison struct {
	*reclaiming
	scope  string
	target []float64
	weight []float64
	tier   []int
}

func (r *reclaiming) ofBranches(at Units, scope string) *comparison {
	c := &comparison{reclaiming: r, scope: scope, target: r.Targets(at)}
	for _, n := range r.tree.Nodes {
		c.weight, c.tier = append(c.weight, n.Plan.Weight), append(c.tier, n.Plan.Tier)
	}
	return c
}

// ofLeaves compares leaves as if all were siblings: weights are the products up the path, and a leaf is in the latest
// tier of it.
func (r *reclaiming) ofLeaves(at Units) *comparison {
	c := &comparison{reclaiming: r, scope: scopeLeaf, target: make([]float64, len(r.tree.Nodes)),
		weight: []float64{1}, tier: []int{1}}
	leaves := r.tree.Leaves()
	flat := &Tree{Nodes: make([]Node, 1, 1+len(leaves))}
	flat.Nodes[0] = Node{Parent: -1, Plan: DefaultPlan()}
	for i, n := range r.tree.Nodes[1:] {
		c.weight, c.tier = append(c.weight, n.Plan.Weight*c.weight[n.Parent]), append(c.tier, max(n.Plan.Tier, c.tier[n.Parent]))
		if len(n.Children) > 0 {
			continue
		}
		plan := DefaultPlan()
		plan.Weight, plan.Tier, plan.Owned, plan.Min, plan.Max = c.weight[i+1], c.tier[i+1], n.Plan.Owned, n.Plan.Min, n.Plan.Max
		flat.Nodes[0].Children = append(flat.Nodes[0].Children, len(flat.Nodes))
		flat.Nodes = append(flat.Nodes, Node{Name: n.Path, Depth: 1, Plan: plan})
	}
	p := NewPool(flat, r.name)
	for k, leaf := range leaves {
		p.Hold(k+1, r.Pool.Held(leaf))
		p.SetWant(k+1, r.Want(leaf))
	}
	for k, target := range p.Targets(at)[1:] {
		c.target[leaves[k]] = target
	}
	return c
}

// sides are the nodes a and b that the scope compares for a victim in a leaf, twice the same if there are none.
func (c *comparison) sides(leaf int) (a, b int) {
	if c.scope == scopeLeaf {
		return c.ask.Leaf, leaf
	}
	a, b = c.tree.Part(c.ask.Leaf, leaf)
	if c.scope == scopeParent && c.tree.Nodes[a].Depth > 1 {
		return 0, 0 // one branch has nothing to reclaim from itself
	}
	return a, b
}

// allows says whether a job may be taken now as far as this comparison goes.
func (c *comparison) allows(v Running) bool {
	a, b := c.sides(v.Leaf)
	if a == b || !c.isShort(a) || !c.settles(a, b, v.Units) {
		return false
	}
	if c.ask.Terms.By == byRank && c.uses(v) {
		return true
	}
	return c.short(b)+float64(v.Units) <= c.short(a)+Tolerance && (c.ask.Terms.By == byRank || c.isOver(v.Leaf, b))
}

// uses says whether the claimer's next job takes all units of a victim.
func (c *comparison) uses(v Running) bool { return v.Units <= c.ask.Job-c.gained%c.ask.Job }

// isShort says whether all from the claimer up to a are short of the job that units are being gathered for.
func (c *comparison) isShort(a int) bool {
	for n := c.ask.Leaf; ; n = c.tree.Nodes[n].Parent {
		if c.short(n)+float64(c.gained%c.ask.Job) < float64(c.ask.Job)-Tolerance {
			return false
		}
		if n == a {
			return true
		}
	}
}

// isOver says whether all from a victim's leaf up to b are over their targets.
func (c *comparison) isOver(leaf, b int) bool {
	for n := leaf; ; n = c.tree.Nodes[n].Parent {
		if c.short(n) > -Tolerance {
			return false
		}
		if n == b {
			return true
		}
	}
}

// swaps says whether b would be left as short as a is, or more, with units that somebody else may get.
func (c *comparison) swaps(v Running) bool {
	a, b := c.sides(v.Leaf)
	given := c.ask.Terms.Scope == scopeLeaf || c.ask.Terms.By == byRank
	if given && c.uses(v) {
		return false
	}
	return c.short(b)+float64(v.Units) > c.short(a)-Tolerance
}

// settles is rule 3.
func (c *comparison) settles(a, b int, s Units) bool {
	if float64(c.held[a]+s) <= c.guaranteed(a) {
		return true
	}
	wa, wb := c.weight[a], c.weight[b]
	switch {
	case (wa == 0) != (wb == 0):
		return wb == 0
	case c.tier[a] != c.tier[b]:
		return c.tier[a] < c.tier[b]
	case wa == 0:
		wa, wb = 1, 1
	}
	mine := max(0, float64(c.held[a]+s)-c.owned[c.seatOf[a]])
	its := float64(c.held[b]-s) - c.owned[c.seatOf[b]]
	return mine*wb <= its*wa+Tolerance*min(wa, wb)
}

// short is how far a node is below its target.
func (c *comparison) short(node int) float64 { return c.target[node] - float64(c.held[node]) }

// ratio is held/target.
func (c *comparison) ratio(node int) float64 {
	if c.target[node] < Tolerance {
		return math.Inf(1)
	}
	return float64(c.held[node]) / c.target[node]
}

// Part is the pair of siblings that lead to two nodes, neither in the branch of the other; twice the same node for
// one and the same.
func (t *Tree) Part(a, b int) (int, int) {
	for t.Nodes[a].Depth > t.Nodes[b].Depth {
		a = t.Nodes[a].Parent
	}
	for t.Nodes[b].Depth > t.Nodes[a].Depth {
		b = t.Nodes[b].Parent
	}
	for t.Nodes[a].Parent != t.Nodes[b].Parent {
		a, b = t.Nodes[a].Parent, t.Nodes[b].Parent
	}
	return a, b
}
