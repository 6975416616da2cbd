package shares

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Running is a job that holds units and could be reclaimed.
type Running struct {
	ID      int64
	Leaf    int // index into Tree.Nodes
	Units   Units
	Started time.Time
}

// Claim is what a leaf asks back.
type Claim struct {
	Leaf  int
	Units Units   // what its ready jobs could use in place of the victims
	Job   Units   // what the next of them charges: less than that is of no use to it
	Terms Reclaim // see Tree.ReclaimOf; of it min_runtime, scope and by count here
}

// ReclaimOf is how a share takes units back: its own reclaim, else that of the nearest ancestor with one; nil if
// it waits for jobs to end.
func (t *Tree) ReclaimOf(i int) *Reclaim {
	for ; i >= 0; i = t.Nodes[i].Parent {
		if r := t.Nodes[i].Plan.Reclaim; r != nil {
			return r
		}
	}
	return nil
}

// Victims is the smallest set of jobs whose end gives a claimer what it is short of at R = c, or as many whole jobs
// of that as can be had; nil if none. Jobs are those that it could use the units of.
//
// The scope says which two nodes a and b are compared for claimer i and victim j: leaf, i and j themselves, with
// targets and weight products as if all leaves were siblings; parent, the branches below the root; lca, the
// children of the last common node of both paths. A job of s units is taken only if all of this holds, held
// counting what was taken before:
//
//  1. i and a are below target by a job of i at least: roundings reclaim nothing.
//  2. Nobody from j up to the common node falls below max(owned, min).
//  3. (held(a) + s)/w(a) ≤ (held(b) − s)/w(b), of what they hold beyond owned, which weights do not touch: so much is
//     never taken that b could take it back. What a is guaranteed, max(owned, min), it may always take; between
//     tiers the earlier one takes, and the later never.
//  4. But for the leaf scope: the next pull would not give it straight back, a being further below its target than b.
//  5. By ratio, all from j up to b are over their targets. By rank they need not be: E4 goes below.
//
// Order: the largest rank if by rank, then the largest held/target of b, of j, then the youngest job.
//
// Claims of one scope come to an end whatever is granted between them at the same demand: each one makes Σ min(held,
// guaranteed) larger, or leaves it and makes Σ held²/w of the siblings compared smaller. Leaf scope beside another
// one in a pool has no such end, and under leaf scope the freed units must be given to the claimer, because pulls
// go by the targets of the tree.
func (p *Pool) Victims(c Units, claim Claim, jobs []Running, now time.Time) []Running {
	r := p.reclaiming(c, claim)
	short := min(float64(claim.Units), r.target[claim.Leaf]-float64(r.held[claim.Leaf])) + Tolerance
	if claim.Job <= 0 || short < float64(claim.Job) {
		return nil
	}
	need := Units(short) / claim.Job * claim.Job
	r.line(jobs, now)
	var victims []Running
	for r.gained < need {
		v, ok := r.next()
		if !ok {
			break
		}
		victims = append(victims, v)
	}
	return smallest(victims, r.gained, min(need, r.gained/claim.Job*claim.Job))
}

// smallest leaves out what the need does not take, the last choices first.
func smallest(victims []Running, got, need Units) []Running {
	for k := len(victims) - 1; k >= 0; k-- {
		if got-victims[k].Units >= need {
			got -= victims[k].Units
			victims = slices.Delete(victims, k, k+1)
		}
	}
	return victims
}

// reclaiming is a choice of victims on its way. Figures are by node, those of the leaf scope of leaves only.
type reclaiming struct {
	*Pool
	claim  Claim
	target []float64
	weight []float64
	tier   []int
	held   []Units           // what is left and what was gained so far
	gained Units             // the sum of that
	jobs   map[int][]Running // leaf → those that may still be taken, youngest first
	leaves []int             // with such jobs, in the order of the file
}

func (p *Pool) reclaiming(c Units, claim Claim) *reclaiming {
	n := len(p.tree.Nodes)
	r := &reclaiming{Pool: p, claim: claim, held: make([]Units, n), weight: make([]float64, n), tier: make([]int, n)}
	for i := range p.tree.Nodes {
		r.held[i] = p.Held(i)
		r.weight[i], r.tier[i] = p.tree.Nodes[i].Plan.Weight, p.tree.Nodes[i].Plan.Tier
	}
	if claim.Terms.Scope == "leaf" {
		r.flatten(c)
	} else {
		r.target = p.Targets(c)
	}
	return r
}

// flatten makes all leaves siblings: weights are the products up the path, and a leaf is in the latest tier of it.
func (r *reclaiming) flatten(c Units) {
	for i := range r.tree.Nodes[1:] {
		up := r.tree.Nodes[i+1].Parent
		if up > 0 {
			r.weight[i+1] *= r.weight[up]
			r.tier[i+1] = max(r.tier[i+1], r.tier[up])
		}
	}
	leaves := r.tree.Leaves()
	flat := &Tree{Nodes: make([]Node, 1, 1+len(leaves))}
	flat.Nodes[0] = Node{Parent: -1, Plan: DefaultPlan()}
	for k, leaf := range leaves {
		was := r.tree.Nodes[leaf].Plan
		plan := DefaultPlan()
		plan.Weight, plan.Tier, plan.Owned, plan.Min, plan.Max = r.weight[leaf], r.tier[leaf], was.Owned, was.Min, was.Max
		flat.Nodes = append(flat.Nodes, Node{Name: r.tree.Nodes[leaf].Path, Depth: 1, Plan: plan})
		flat.Nodes[0].Children = append(flat.Nodes[0].Children, k+1)
	}
	p := NewPool(flat, r.name)
	for k, leaf := range leaves {
		p.Hold(k+1, r.Pool.Held(leaf))
		p.SetWant(k+1, r.Want(leaf))
	}
	r.target = make([]float64, len(r.tree.Nodes))
	for k, target := range p.Targets(c)[1:] {
		r.target[leaves[k]] = target
	}
}

// line sorts the jobs that are old enough by leaf, the youngest first.
func (r *reclaiming) line(jobs []Running, now time.Time) {
	r.jobs = map[int][]Running{}
	for _, j := range jobs {
		if j.Leaf != r.claim.Leaf && now.Sub(j.Started) >= time.Duration(r.claim.Terms.MinRuntime) {
			r.jobs[j.Leaf] = append(r.jobs[j.Leaf], j)
		}
	}
	for _, leaf := range r.tree.Leaves() {
		if len(r.jobs[leaf]) > 0 {
			slices.SortFunc(r.jobs[leaf], younger)
			r.leaves = append(r.leaves, leaf)
		}
	}
}

func younger(a, b Running) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID)) }

// next takes the next victim; false if nobody may be taken any more.
func (r *reclaiming) next() (v Running, ok bool) {
	best := -1
	for _, leaf := range r.leaves {
		// What may not be taken now may not be taken later either: held(a) only grows, held(b) only falls.
		for len(r.jobs[leaf]) > 0 && !r.takes(r.jobs[leaf][0]) {
			r.jobs[leaf] = r.jobs[leaf][1:]
		}
		if len(r.jobs[leaf]) > 0 && (best < 0 || r.before(leaf, best)) {
			best = leaf
		}
	}
	if best < 0 {
		return Running{}, false
	}
	v = r.jobs[best][0]
	r.jobs[best] = r.jobs[best][1:]
	r.tree.Up(v.Leaf, func(n int) { r.held[n] -= v.Units })
	r.tree.Up(r.claim.Leaf, func(n int) { r.held[n] += v.Units })
	r.gained += v.Units
	return v, true
}

// compared are the nodes a and b of the scope.
func (r *reclaiming) compared(leaf int) (a, b int) {
	if r.claim.Terms.Scope == "leaf" {
		return r.claim.Leaf, leaf
	}
	a, b = r.tree.part(r.claim.Leaf, leaf)
	if r.claim.Terms.Scope == "parent" && r.tree.Nodes[a].Depth > 1 {
		return 0, 0 // one branch has nothing to reclaim from itself
	}
	return a, b
}

// takes says whether a job may be taken now.
func (r *reclaiming) takes(v Running) bool {
	a, b := r.compared(v.Leaf)
	if a == b || !r.isShort(a) || !r.isShort(r.claim.Leaf) || !r.settles(a, b, v.Units) {
		return false
	}
	if r.claim.Terms.Scope != "leaf" && r.short(a) < r.short(b)+float64(v.Units)-Tolerance {
		return false
	}
	common, _ := r.tree.part(r.claim.Leaf, v.Leaf)
	common = r.tree.Nodes[common].Parent
	for n := v.Leaf; n != common; n = r.tree.Nodes[n].Parent {
		if float64(r.held[n]-v.Units) < r.guaranteed(n) {
			return false
		}
	}
	for n := v.Leaf; r.claim.Terms.By != "rank"; n = r.tree.Nodes[n].Parent {
		if r.short(n) > -Tolerance {
			return false
		}
		if n == b {
			break
		}
	}
	return true
}

func (r *reclaiming) short(node int) float64 { return r.target[node] - float64(r.held[node]) }

// isShort says whether a node is short of the job that units are being gathered for.
func (r *reclaiming) isShort(node int) bool {
	return r.short(node)+float64(r.gained%r.claim.Job) >= float64(r.claim.Job)-Tolerance
}

// guaranteed is max(owned, min).
func (r *reclaiming) guaranteed(node int) float64 {
	return max(r.owned[r.seatOf[node]], r.floor[r.seatOf[node]])
}

// settles is the condition that keeps reclaims from chasing each other.
func (r *reclaiming) settles(a, b int, s Units) bool {
	if float64(r.held[a]+s) <= r.guaranteed(a) {
		return true
	}
	if r.tier[a] != r.tier[b] {
		return r.tier[a] < r.tier[b]
	}
	wa, wb := r.weight[a], r.weight[b]
	if wa == 0 && wb == 0 {
		wa, wb = 1, 1
	}
	mine := max(0, float64(r.held[a]+s)-r.owned[r.seatOf[a]])
	its := float64(r.held[b]-s) - r.owned[r.seatOf[b]]
	return mine*wb <= its*wa+Tolerance*min(wa, wb)
}

// before says whether the next job of leaf a goes before that of leaf b.
func (r *reclaiming) before(a, b int) bool {
	if r.claim.Terms.By == "rank" {
		if d := cmp.Compare(r.tree.Nodes[a].Plan.Rank, r.tree.Nodes[b].Plan.Rank); d != 0 {
			return d > 0
		}
	}
	_, sideA := r.compared(a)
	_, sideB := r.compared(b)
	return cmp.Or(cmp.Compare(r.ratio(sideB), r.ratio(sideA)), cmp.Compare(r.ratio(b), r.ratio(a)),
		younger(r.jobs[a][0], r.jobs[b][0])) < 0
}

// ratio is held/target.
func (r *reclaiming) ratio(node int) float64 {
	if r.target[node] < Tolerance {
		return math.Inf(1)
	}
	return float64(r.held[node]) / r.target[node]
}

// part is the pair of siblings that lead to two nodes, neither in the branch of the other; twice the same node for
// one and the same.
func (t *Tree) part(a, b int) (int, int) {
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
