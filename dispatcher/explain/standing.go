package explain

import (
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Standing is the state of all pools.
func (m Moment) Standing() Standing { return m.standing((*pool).addFigures) }

// Outlook is the Standing, how long each share waits for its target if nothing is reclaimed, by the ends of attempts, and how long the
// next of its jobs has waited, by Waited.
func (m Moment) Outlook() Standing {
	heads := m.heads()
	return m.standing(func(p *pool) {
		p.addFigures()
		p.addWaits(m.byLeaf(p.name))
		p.addWaited(m, heads[p.name])
	})
}

func (m Moment) standing(add func(*pool)) Standing {
	st := Standing{Version: m.View.Site.Number, At: m.At.UTC(), PlansAt: m.View.PlansAt.UTC(), Pools: []PoolStanding{}}
	if !m.View.NextPlans.IsZero() {
		next := m.View.NextPlans.UTC()
		st.NextChange = &next
	}
	jobs := countJobs(m.View)
	for _, name := range poolsOf(m.View.Site) {
		p := m.pool(name, jobs)
		add(p)
		st.Pools = append(st.Pools, p.PoolStanding)
	}
	return st
}

// pool is a pool as it is shown, and what that was made of.
type pool struct {
	PoolStanding
	machine.PoolView
	name  string
	round shares.Units // R
}

// pool shows how the tree stands in a pool; targets are shares of what is held and of what pilots offered and did not get filled.
func (m Moment) pool(name string, jobs *jobCounts) *pool {
	view, _ := m.View.Pool(name)
	p := &pool{PoolView: view, name: name}
	p.round = roundOf(view, m.Offered[name])
	p.PoolStanding = PoolStanding{Pool: name, Capacity: -1, Round: p.round.Float(), Held: view.Book.Held(0).Float()}
	if view.Capacity != shares.Unlimited {
		p.PoolStanding.Capacity = view.Capacity.Float()
	}
	tree := m.View.Site.Tree
	targets, slots := view.Book.Targets(p.round), view.Book.Slots(p.round)
	ready, held := jobs.byNode(tree, name)
	p.Shares = make([]ShareStanding, 0, len(tree.Nodes))
	for i, n := range tree.Nodes {
		if i == 0 {
			continue // the root is the pool
		}
		units := view.Book.Held(i).Float()
		p.Shares = append(p.Shares, ShareStanding{
			Place:  Place{ID: n.ID, Path: n.Path, Pool: name, Depth: n.Depth, Leaf: tree.Leaf(i), Weight: n.Plan.Weight, Tier: n.Plan.Tier, Rank: n.Plan.Rank},
			Target: targets[i] / 1000, Slots: slots[i], Held: units, Deficit: targets[i]/1000 - units, Demand: view.Book.Demand(i).Float(),
			Ready: ready[i], HeldJobs: held[i], Lag: view.Lag[i] / 1000, Remembered: view.Book.Lag(i) / 1000})
	}
	return p
}

// roundOf is R for a pull that offers so many units.
func roundOf(p machine.PoolView, offered shares.Units) shares.Units {
	full := p.Capacity
	if full != shares.Unlimited {
		full += p.Offline
	}
	return shares.Round(full, p.Book.Held(0), offered)
}

// addFigures fills in what each share deserves, owns, lends and borrows.
func (p *pool) addFigures() {
	for i, f := range p.Book.Figures(p.PoolView.Capacity)[1:] { // the root is no share
		p.Shares[i].Lending = Lending{Deserved: f.Deserved / 1000, Owned: f.Owned.Float(), Own: f.Own.Float(), Lent: f.Lent / 1000, Borrowed: f.Borrowed / 1000}
	}
}

// addWaits fills in how long shares wait for their targets (shares.Pool.ETA).
func (p *pool) addWaits(ends map[int]shares.Ends) {
	wait := p.Book.ETA(p.round, ends)
	for i := range p.Shares {
		if w, ok := wait(i + 1); ok { // the root is no share
			seconds := w.Seconds()
			p.Shares[i].AtTarget = &seconds
		}
	}
}

// Heads lists the jobs whose time of waiting Outlook tells: of each leaf in each pool the oldest of those that are next in line.
// Waited is to have them.
func (m Moment) Heads() (jobs []int64) {
	seen := map[int64]bool{}
	for _, byLeaf := range m.heads() {
		for _, id := range byLeaf {
			if !seen[id] {
				seen[id] = true
				jobs = append(jobs, id)
			}
		}
	}
	return jobs
}

// heads are those jobs by pool and leaf. The lowest id is the oldest, for ids are given in the order of time.
func (m Moment) heads() map[string]map[int]int64 {
	heads, places := map[string]map[int]int64{}, placesOf(m.View)
	for b := range m.View.Ready() {
		if b.First == 0 {
			continue
		}
		for _, name := range places.of(b).pools {
			if heads[name] == nil {
				heads[name] = map[int]int64{}
			}
			if had := heads[name][b.Leaf]; had == 0 || b.First < had {
				heads[name][b.Leaf] = b.First
			}
		}
	}
	return heads
}

// addWaited fills in how long the next jobs of leaves have waited, and the longest of it in what is above them.
func (p *pool) addWaited(m Moment, heads map[int]int64) {
	nodes := m.View.Site.Tree.Nodes
	for leaf, id := range heads {
		seconds, ok := m.Waited[id]
		if !ok {
			continue
		}
		seconds = max(0, seconds)
		for at := leaf; at > 0; at = nodes[at].Parent { // the root is no share
			if had := p.Shares[at-1].Waited; had == nil || *had < seconds {
				p.Shares[at-1].Waited = &seconds
			}
		}
	}
}

// jobCounts are the jobs of a moment, counted once for all pools.
type jobCounts struct {
	ready, held map[string][]int64 // by pool and node; those of leaves alone
}

// countJobs counts ready and held jobs.
func countJobs(v machine.View) *jobCounts {
	n := len(v.Site.Tree.Nodes)
	c := &jobCounts{map[string][]int64{}, map[string][]int64{}}
	for _, name := range poolsOf(v.Site) {
		c.ready[name], c.held[name] = make([]int64, n), make([]int64, n)
	}
	places := placesOf(v)
	for b := range v.Ready() {
		if b.Ready == 0 {
			continue
		}
		for _, name := range places.of(b).pools {
			c.ready[name][b.Leaf] += b.Ready
		}
	}
	for h := range v.Held() {
		if node, ok := v.Site.Tree.ByID(h.Share); ok && !charges(v, h.Shape) {
			for _, name := range places.queue(h.Queue).pools {
				c.held[name][node] += h.Jobs
			}
		}
	}
	return c
}

// charges says whether a shape is that of a claim's units, and of no job.
func charges(v machine.View, shape int32) bool {
	need, _ := v.Shape(shape)
	return need.Charges()
}

// byNode counts jobs in a pool, leaves and what is above them.
func (c *jobCounts) byNode(tree *shares.Tree, pool string) (ready, held []int64) {
	ready, held = append([]int64(nil), c.ready[pool]...), append([]int64(nil), c.held[pool]...)
	for i := len(tree.Nodes) - 1; i > 0; i-- {
		ready[tree.Nodes[i].Parent] += ready[i]
		held[tree.Nodes[i].Parent] += held[i]
	}
	return ready, held
}

func (p *pool) path(tree *shares.Tree, node int) PathStanding {
	out := PathStanding{Pool: p.name, Capacity: p.PoolStanding.Capacity, Round: p.Round, Held: p.Held, Levels: []LevelStanding{}}
	product := 1.0
	for _, at := range down(tree, node) {
		level := p.levelOf(tree.Nodes[tree.Nodes[at].Parent].Children, at)
		product *= level.Product
		level.Product = product
		out.Levels = append(out.Levels, level)
	}
	return out
}

// levelOf is a node among its siblings; the product is that of this level only.
func (p *pool) levelOf(siblings []int, node int) LevelStanding {
	own := &p.Shares[node-1]
	level := LevelStanding{Share: own.Path, Weight: own.Weight, Tier: own.Tier, Target: own.Target, Held: own.Held, Deficit: own.Deficit,
		Demand: own.Demand, Ready: own.Ready, Rank: 1, Of: 1}
	sum := 0.0
	for _, c := range siblings {
		sibling := &p.Shares[c-1] // the root is no share
		sum += sibling.Weight
		if c == node || sibling.Ready == 0 {
			continue
		}
		level.Of++
		if sibling.Deficit > own.Deficit+shares.Tolerance/1000 {
			level.Rank++
		}
	}
	if sum > 0 {
		level.Product = own.Weight / sum
	}
	return level
}

// down is the path to a node without the root.
func down(t *shares.Tree, node int) []int {
	path := make([]int, t.Nodes[node].Depth)
	for i := len(path) - 1; i >= 0; i-- {
		path[i], node = node, t.Nodes[node].Parent
	}
	return path
}
