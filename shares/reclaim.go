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

// Ask is what a leaf asks back.
type Ask struct {
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
//  1. All from i up to a are below target by a job of i at least: roundings reclaim nothing, and what comes free for a
//     has a way down to i.
//  2. Nobody from j up to the common node falls below max(owned, min).
//  3. (held(a) + s)/w(a) ≤ (held(b) − s)/w(b), of what they hold beyond owned, which weights do not touch: so much is
//     never taken that b could take it back. What a is guaranteed, max(owned, min), it may always take; between
//     classes of the solver (tiers, then those of weight 0) the earlier one takes, and the later never.
//  4. b is not left as short as a is now. As short is good enough where the claimer is given what comes free, which is
//     so for leaf scope and by rank (E4), and can use all of it; else the next pull could give it straight back. By rank,
//     where it can use all of it, b may be left shorter: the largest rank gives first, as far as rule 3 goes. E5: A 7, B 5
//     of the largest rank, C wants 1 of the 12 slots, all of weight 1: B gives it, though A is over its 5.5 and B is not.
//  5. By ratio, all from j up to b are over their targets. By rank they need not be: E4 goes below.
//  6. Once the victims are gone i may hold the units, see Admits. Targets of leaf scope know of no limit above the leaf.
//
// An ask of leaf scope has to stand the comparison of lca as well where anybody in the tree reclaims by another scope.
// Else the two chase each other: A {a} and B {x, y} of weight 1 on 6 slots, a 3, x 2, y 1, all want more. As leaves,
// 2 each, y takes from a; as branches, 3 each, a takes it back.
//
// Order: the largest rank if by rank, then the largest held/target of b, of j, then the youngest job.
//
// # Why reclaims come to an end, whoever reclaims by whatever scope and order, at the same demand
//
// Targets follow from the demand, which a job that comes back to ready does not change, so they stand still. Look at the
// siblings that are compared: by rule 1 and 4 the shortage of a (target − held) goes down by what it is given, and that
// of b goes up to less than a's was. So the shortages, sorted from the largest, get smaller in the order of words in a
// dictionary. What pulls do with units that come free changes nothing in this: each goes to the largest shortage, or
// where only smaller jobs fit, and a grant makes none larger. Where rule 4 lets b be left just as short, that
// order may stay; then the claimer has got the units, and by rule 2 and 3 this gets better: Σ min(held, guaranteed)
// grows, or else the held units move to an earlier class, or else in one class x = held − owned with
//
//	Δ Σ x²/w = s·(2x(a) + s)/w(a) − s·(2x(b) − s)/w(b) < 2s·((x(a) + s)/w(a) − (x(b) − s)/w(b)) ≤ 0
//
// By rank alone may b be left shorter. Where all jobs have one size, s, this ends too. Σ max(0, held − target) never grows:
// who gets units, claimers and by pulls those at least as short, is short of s. Reclaims by ratio make it smaller, as b is
// over. Those by rank give a just what they take from b, so that what the last paragraph says of a claimer that has got the
// units is true of them: Σ min(held, guaranteed) grows, or units move to an earlier class, or Σ x²/w falls. For jobs of
// several sizes there is no proof of that; TestReclaimComesToAnEnd mixes them.
//
// Above the two, nobody's held changes when the units come back to the branch. Of the families below them nothing is
// said, so the families count from the root down: one may disturb what lies below the pair it compares, never what
// lies above. There are finitely many ways to hold the units of a pool, so there is a last one. (Where pulls give
// what came free to another branch further up that is just as short, the two change places; whoever has waited longest is
// next, so each gives back what it got.) Leaves compared with leaves are one family, on which pulls by the tree do
// not count, because claimers are given the units. Mixed with other scopes they only take what the tree allows too.
func (p *Pool) Victims(c Units, ask Ask, jobs []Running, now time.Time) []Running {
	r := newReclaiming(p, c, ask)
	short := min(float64(ask.Units), r.shortage(ask.Leaf)) + Tolerance
	if ask.Job <= 0 || short < float64(ask.Job) {
		return nil
	}
	need := Units(short) / ask.Job * ask.Job
	r.line(jobs, now)
	var victims []Running
	for r.gained < need {
		v, ok := r.next()
		if !ok {
			break
		}
		victims = append(victims, v)
	}
	victims = smallest(victims, r.gained, min(need, r.gained/ask.Job*ask.Job))
	victims = r.settled(victims)
	return r.admitted(smallest(victims, r.gained, r.gained/ask.Job*ask.Job))
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

// reclaiming is a choice of victims on its way. Figures are by node.
type reclaiming struct {
	*Pool
	at     Units // R
	ask    Ask
	by     []*comparison     // all of them must allow it; the first is that of the scope of what is asked and orders victims
	held   []Units           // what is left and what was gained so far
	gained Units             // the sum of that
	jobs   map[int][]Running // leaf → those that may still be taken, youngest first
	leaves []int             // with such jobs, in the order of the file
}

func newReclaiming(p *Pool, c Units, ask Ask) *reclaiming {
	r := &reclaiming{Pool: p, at: c, ask: ask, held: make([]Units, len(p.tree.Nodes))}
	r.start()
	if ask.Terms.Scope != scopeLeaf {
		r.by = []*comparison{r.ofBranches(c, ask.Terms.Scope)}
		return r
	}
	r.by = []*comparison{r.ofLeaves(c)}
	if p.tree.comparesBranches() {
		r.by = append(r.by, r.ofBranches(c, scopeLCA))
	}
	return r
}

// shortage is how far a node is below its target, by whichever comparison that is less.
func (r *reclaiming) shortage(node int) float64 {
	least := math.Inf(1)
	for _, c := range r.by {
		least = min(least, c.short(node))
	}
	return least
}

// line sorts the jobs that are old enough by leaf, the youngest first.
func (r *reclaiming) line(jobs []Running, now time.Time) {
	r.jobs = map[int][]Running{}
	for _, j := range jobs {
		if j.Leaf != r.ask.Leaf && now.Sub(j.Started) >= time.Duration(r.ask.Terms.MinRuntime) {
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

// next takes the next victim; false if there is none.
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
	r.take(v)
	return v, true
}

func (r *reclaiming) take(v Running) {
	r.tree.Up(v.Leaf, func(n int) { r.held[n] -= v.Units })
	r.tree.Up(r.ask.Leaf, func(n int) { r.held[n] += v.Units })
	r.gained += v.Units
}

// settled are the victims that the second half of rule 4 allows too. It looks at them when the others that were taken
// on the way have been left out, because those made the claimer less short.
func (r *reclaiming) settled(victims []Running) (kept []Running) {
	r.start()
	for _, v := range victims {
		if !slices.ContainsFunc(r.by, func(c *comparison) bool { return c.swaps(v) }) {
			r.take(v)
			kept = append(kept, v)
		}
	}
	return kept
}

// admitted leaves out victims, the last choices first, until the claimer may hold what the others give.
func (r *reclaiming) admitted(victims []Running) []Running {
	for len(victims) > 0 {
		gained := Units(0)
		for _, v := range victims {
			gained += v.Units
		}
		need := gained / r.ask.Job * r.ask.Job
		if need > 0 && r.mayHold(victims, need) {
			return victims
		}
		n := len(victims)
		if victims = smallest(victims, gained, need-r.ask.Job); len(victims) == n {
			victims = victims[:n-1]
		}
	}
	return nil
}

// mayHold says whether the claimer may hold so much more once the victims' jobs are ready again. It looks by making
// the pool so for a moment, in a copy without a capacity with R for it.
func (r *reclaiming) mayHold(victims []Running, u Units) bool {
	if r.loans != nil && r.loans.capacity == Unlimited {
		r.SetCapacity(r.at)
		defer r.SetCapacity(Unlimited)
	}
	wants := make([]Units, len(victims))
	for k, v := range victims {
		wants[k] = r.Want(v.Leaf)
		r.Hold(v.Leaf, -v.Units)
		r.SetWant(v.Leaf, wants[k]+v.Units)
	}
	_, ok := r.Admits(r.ask.Leaf, u)
	for k := len(victims) - 1; k >= 0; k-- {
		r.SetWant(victims[k].Leaf, wants[k])
		r.Hold(victims[k].Leaf, victims[k].Units)
	}
	return ok
}

// start forgets what was taken.
func (r *reclaiming) start() {
	for i := range r.held {
		r.held[i] = r.Held(i)
	}
	r.gained = 0
}

// takes says whether a job may be taken now.
func (r *reclaiming) takes(v Running) bool {
	common, _ := r.tree.Part(r.ask.Leaf, v.Leaf)
	common = r.tree.Nodes[common].Parent
	for n := v.Leaf; n != common; n = r.tree.Nodes[n].Parent {
		if float64(r.held[n]-v.Units) < r.guaranteed(n) {
			return false
		}
	}
	for _, c := range r.by {
		if !c.allows(v) {
			return false
		}
	}
	return true
}

// before says whether the next job of leaf a goes before that of leaf b.
func (r *reclaiming) before(a, b int) bool {
	if r.ask.Terms.By == byRank {
		if d := cmp.Compare(r.tree.Nodes[a].Plan.Rank, r.tree.Nodes[b].Plan.Rank); d != 0 {
			return d > 0
		}
	}
	c := r.by[0]
	_, sideA := c.sides(a)
	_, sideB := c.sides(b)
	return cmp.Or(cmp.Compare(c.ratio(sideB), c.ratio(sideA)), cmp.Compare(c.ratio(b), c.ratio(a)),
		younger(r.jobs[a][0], r.jobs[b][0])) < 0
}
