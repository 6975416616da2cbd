package machine

import (
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// site is a version of the site with the plans and target slots of a moment.
type site struct {
	file     shares.Version // as it was adopted
	version  shares.Version // its tree with the plans of the moment
	at       time.Time      // the moment
	next     time.Time      // when others come into force; zero: never
	targets  []entry.Target // that hold, beside the site file
	queues   map[shares.QueueID]*queue
	byName   map[string]*queue
	pools    []*pool // by name
	policies map[string]*policy
}

// queue is a queue of the site with what runs there.
type queue struct {
	shares.Queue
	pos       int
	pool      *pool
	limit     *limit  // nil: it has as many slots as pilots bring
	policy    *policy // which shares run here; nil: all
	targets   []*target
	floors    []*target
	outlines  []*outline // of jobs that may run here
	guests    []*outline // the same, of guests
	heldCores int64
	heldJobs  int64
}

// pool is a resource group: the tree's standing in it.
type pool struct {
	name        string
	book        *shares.Pool
	capacity    shares.Units      // C of the online queues
	heldOffline shares.Units      // at queues that are not online; it runs out beside C
	limit       *limit            // nil: a queue has no bound
	paths       [][]*limit        // by node: the max of its path
	lag         []float64         // by node: what it missed, in thousandths of a unit times seconds, for showing
	owed        owed              // to whom units were reclaimed
	below       shares.Contenders // of the floor that is being looked at; else empty
	lends       bool              // there are limits of lending or borrowing
	demand      []shares.Units    // by node, as lending last saw it
	eased       uint64            // rises when lending may admit what it has refused
	grants      uint64            // of this site
	last        []uint64          // by leaf: the number of its last grant; 0: it had none
}

// newSite works out what follows from a version at a moment.
func newSite(file shares.Version, at time.Time, targets []entry.Target) *site {
	v := file
	v.Tree = file.Tree.At(at)
	t := &site{file: file, version: v, at: at, targets: slices.Clone(targets), queues: map[shares.QueueID]*queue{}, byName: map[string]*queue{}}
	t.next, _ = file.Tree.NextChange(at)
	for _, target := range targets {
		if u := target.Until; !u.IsZero() && (t.next.IsZero() || u.Before(t.next)) {
			t.next = u
		}
	}
	byName := map[string]*pool{}
	for name, c := range capacities(v.Queues) {
		p := newPool(v.Tree, name, c)
		byName[name], t.pools = p, append(t.pools, p)
	}
	slices.SortFunc(t.pools, func(a, b *pool) int { return strings.Compare(a.name, b.name) })
	for i, q := range v.Queues {
		e := &queue{Queue: q, pos: i, pool: byName[q.Pool]}
		if q.Slots != nil {
			e.limit = &limit{gate: gate.Queue, ref: q.Name, cap: shares.Units(*q.Slots) * 1000}
		}
		t.queues[q.ID], t.byName[q.Name] = e, e
	}
	t.adoptPolicies()
	t.hangTargets()
	return t
}

func newPool(tree *shares.Tree, name string, c shares.Units) *pool {
	n := len(tree.Nodes)
	p := &pool{name: name, book: shares.NewPool(tree, name), capacity: c, lag: make([]float64, n), paths: make([][]*limit, n), demand: make([]shares.Units, n),
		last: make([]uint64, n)}
	p.book.SetCapacity(c)
	p.lends = p.book.Lends()
	if c != shares.Unlimited {
		p.limit = &limit{gate: gate.Pool, ref: name, cap: c}
	}
	for i, node := range tree.Nodes { // parents come first
		if node.Parent >= 0 {
			p.paths[i] = append(p.paths[i], p.paths[node.Parent]...)
		}
		if most, ok := node.Plan.Max.In(name); ok {
			p.paths[i] = append(p.paths[i], &limit{gate: gate.Max, ref: node.Path, cap: most})
		}
	}
	return p
}

// due says whether figures other than those in force belong to a moment. A clock that was set back counts too.
func (t *site) due(now time.Time) bool {
	return !t.next.IsZero() && (now.Before(t.at) || !now.Before(t.next))
}

// capacities is C of every pool: the sum over its online queues, shares.Unlimited when one of them has no slots
// figure. Queues that drain or are offline neither add to C nor count against it: what they hold runs out there.
func capacities(queues []shares.Queue) map[string]shares.Units {
	c := map[string]shares.Units{}
	for _, q := range queues {
		if q.State != shares.Online {
			c[q.Pool] += 0
			continue
		}
		u, limited := q.Capacity()
		switch {
		case !limited, c[q.Pool] == shares.Unlimited:
			c[q.Pool] = shares.Unlimited
		default:
			c[q.Pool] += u
		}
	}
	return c
}

// full is C with what runs out beside it at queues that are not online.
func (p *pool) full() shares.Units {
	if p.capacity == shares.Unlimited {
		return shares.Unlimited
	}
	return p.capacity + p.heldOffline
}

// demanded notes the demand of a leaf, after its want was brought up to date: if it is another than before, lending may
// admit others.
func (p *pool) demanded(leaf int) {
	if !p.lends {
		return
	}
	if d := p.book.Demand(leaf); d != p.demand[leaf] {
		p.demand[leaf] = d
		p.eased++
	}
}

// granted notes that a leaf was given a job: among equals it is the last in turn.
func (p *pool) granted(leaf int, units shares.Units) {
	p.book.Granted(leaf)
	p.grants++
	p.last[leaf] = p.grants
	p.owed.take(leaf, units)
}

// round is R of sharing.md §1 for a pull that offers these units.
func (p *pool) round(offered shares.Units) shares.Units {
	return shares.Round(p.full(), p.book.Held(0), offered)
}

// policy is which leaves the queues with the same allow_shares and deny_shares run. A queue without either has none.
type policy struct {
	number uint32 // from 1
	closed []bool // by node: a leaf whose jobs they do not run
}

// adoptPolicies finds which leaves each queue runs. Who may run a job is its shape's business and, beside that, only this.
func (t *site) adoptPolicies() {
	t.policies = map[string]*policy{}
	for _, v := range t.version.Queues {
		q := t.queues[v.ID]
		if len(q.AllowShares) == 0 && len(q.DenyShares) == 0 {
			continue
		}
		key := strings.Join(q.AllowShares, "\n") + "\n\n" + strings.Join(q.DenyShares, "\n")
		p := t.policies[key]
		if p == nil {
			p = &policy{number: uint32(len(t.policies) + 1), closed: make([]bool, len(t.version.Tree.Nodes))}
			for _, leaf := range t.version.Tree.Leaves() {
				p.closed[leaf] = !q.Runs(t.version.Tree.Nodes[leaf].Path)
			}
			t.policies[key] = p
		}
		q.policy = p
	}
}

// admits says whether jobs of a leaf may run where the policy is in force; nil: everywhere.
func (p *policy) admits(leaf int) bool { return p == nil || !p.closed[leaf] }

// key tells policies apart; 0: none.
func (p *policy) key() uint32 {
	if p == nil {
		return 0
	}
	return p.number
}

// mayRun says whether the queue at a position may run jobs of an outline that a leaf has.
func (t *site) mayRun(at, leaf int, o *outline) bool {
	return at < len(o.queues) && o.queues[at] && t.queues[t.version.Queues[at].ID].policy.admits(leaf)
}

// powerAt is the power of the strongest queue of a pool that may run jobs of an outline for a leaf; 0: none may.
func (t *site) powerAt(leaf int, o *outline, p *pool) (most shares.Units) {
	if len(t.policies) == 0 {
		return o.power[p]
	}
	for i, q := range t.version.Queues {
		if q.Pool == p.name && t.mayRun(i, leaf, o) {
			most = max(most, shares.Units(q.CorePowerMilli))
		}
	}
	return most
}

// leaf finds the leaf of a share; false when the site has no such share, or it is no leaf.
func (t *site) leaf(share shares.ShareID) (node int, ok bool) {
	node, ok = t.version.Tree.ByID(share)
	return node, ok && t.version.Tree.Leaf(node)
}
