package books

import (
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Site is a version of the site with the plans and target slots of a moment.
type Site struct {
	Source
	Version  shares.Version // that of the source, its tree with the plans of the moment
	At       time.Time      // the moment
	Next     time.Time      // when others come into force; zero: never
	Queues   map[shares.QueueID]*Queue
	ByName   map[string]*Queue
	Pools    []*Pool // by name
	Policies map[string]*Policy
	freed    func(*Limit) // is told of limits that have more room
}

// Queue is a queue of the site with what runs there.
type Queue struct {
	shares.Queue
	Pos       int
	Home      *Pool
	Limit     *Limit  // nil: it has as many slots as pilots bring
	Policy    *Policy // which shares run here; nil: all
	Targets   []*Target
	Floors    []*Target
	HeldCores int64
	HeldJobs  int64
}

// Pool is a resource group: the tree's standing in it.
type Pool struct {
	Name        string
	Book        *shares.Pool
	Capacity    shares.Units      // C of the online queues
	HeldOffline shares.Units      // at queues that are not online; it runs out beside C
	Limit       *Limit            // nil: a queue has no bound
	Paths       [][]*Limit        // by node: the max of its path
	Lag         []float64         // by node: what it missed, in thousandths of a unit times seconds, for showing
	Owed        owed              // to whom units were reclaimed
	floored     shares.Contenders // of the floor that is being looked at; else empty
	Lends       bool              // there are limits of lending or borrowing
	demand      []shares.Units    // by node, as lending last saw it
	Eased       uint64            // rises when lending may admit what it has refused
	grants      uint64            // of this site
	Last        []uint64          // by leaf: the number of its last grant; 0: it had none
}

// Source is what a site is made of.
type Source struct {
	File    shares.Version // as it was adopted
	Targets []entry.Target // that hold beside it
	Capped  *entry.Capped  // capacities that people have set; nil: those that the version has
}

// resources are those of the file with the capacities that are set.
func (s Source) resources() []shares.Resource {
	if s.Capped == nil {
		return s.File.Resources
	}
	list := slices.Clone(s.File.Resources)
	for i := range list {
		list[i].Live = nil
	}
	for _, c := range s.Capped.Capacities {
		i := slices.IndexFunc(list, func(r shares.Resource) bool { return r.Name == c.Name })
		q := slices.IndexFunc(s.File.Queues, func(q shares.Queue) bool { return q.ID == c.Queue })
		if i < 0 || c.Queue != 0 && q < 0 {
			continue
		}
		live := shares.LiveCapacity{Key: c.Key, Capacity: c.Units}
		if c.Queue != 0 {
			live.Queue = s.File.Queues[q].Name
		}
		list[i].Live = append(list[i].Live, live)
	}
	return list
}

// New works out what follows from a version at a moment.
func New(from Source, at time.Time, freed func(*Limit)) *Site {
	v := from.File
	v.Resources = from.resources()
	v.Tree = v.Tree.At(at)
	from.Targets = slices.Clone(from.Targets)
	t := &Site{Source: from, Version: v, At: at, Queues: map[shares.QueueID]*Queue{}, ByName: map[string]*Queue{}, freed: freed}
	t.Next, _ = from.File.Tree.NextChange(at)
	for _, target := range from.Targets {
		if u := target.Until; !u.IsZero() && (t.Next.IsZero() || u.Before(t.Next)) {
			t.Next = u
		}
	}
	for name, c := range Capacities(v.Queues) {
		t.Pools = append(t.Pools, newPool(v.Tree, name, c))
	}
	slices.SortFunc(t.Pools, func(a, b *Pool) int { return strings.Compare(a.Name, b.Name) })
	for i, q := range v.Queues {
		e := &Queue{Queue: q, Pos: i, Home: t.Pool(q.Pool)}
		if q.Slots != nil {
			e.Limit = &Limit{Gate: gate.Queue, Ref: q.Name, cap: shares.Units(*q.Slots) * 1000}
		}
		t.Queues[q.ID], t.ByName[q.Name] = e, e
	}
	t.adoptPolicies()
	t.hangTargets()
	return t
}

func newPool(tree *shares.Tree, name string, c shares.Units) *Pool {
	n := len(tree.Nodes)
	p := &Pool{Name: name, Book: shares.NewPool(tree, name), Capacity: c, Lag: make([]float64, n), Paths: make([][]*Limit, n), demand: make([]shares.Units, n),
		Last: make([]uint64, n)}
	p.Book.SetCapacity(c)
	p.Lends = p.Book.Lends()
	if c != shares.Unlimited {
		p.Limit = &Limit{Gate: gate.Pool, Ref: name, cap: c}
	}
	for i, node := range tree.Nodes { // parents come first
		if node.Parent >= 0 {
			p.Paths[i] = append(p.Paths[i], p.Paths[node.Parent]...)
		}
		if most, ok := node.Plan.Max.In(name); ok {
			p.Paths[i] = append(p.Paths[i], &Limit{Gate: gate.Max, Ref: node.Path, cap: most})
		}
	}
	return p
}

// Pool finds one by name; nil: no queue is in it.
func (t *Site) Pool(name string) *Pool {
	i, ok := slices.BinarySearchFunc(t.Pools, name, func(p *Pool, name string) int { return strings.Compare(p.Name, name) })
	if !ok {
		return nil
	}
	return t.Pools[i]
}

// Due says whether figures other than those in force belong to a moment. A clock that was set back counts too.
func (t *Site) Due(now time.Time) bool {
	return !t.Next.IsZero() && (now.Before(t.At) || !now.Before(t.Next))
}

// Capacities is C of every pool: the sum over its online queues, shares.Unlimited when one of them has no slots
// figure. Queues that drain or are offline neither add to C nor count against it: what they hold runs out there.
func Capacities(queues []shares.Queue) map[string]shares.Units {
	c := map[string]shares.Units{}
	for _, q := range queues {
		u, limited := q.Capacity()
		switch {
		case q.State != shares.Online:
			c[q.Pool] += 0
		case !limited, c[q.Pool] == shares.Unlimited:
			c[q.Pool] = shares.Unlimited
		default:
			c[q.Pool] += u
		}
	}
	return c
}

// full is C with what runs out beside it at queues that are not online.
func (p *Pool) full() shares.Units {
	if p.Capacity == shares.Unlimited {
		return shares.Unlimited
	}
	return p.Capacity + p.HeldOffline
}

// Demanded notes the demand of a leaf, after its want was brought up to date: if it is another than before, lending may
// admit others.
func (p *Pool) Demanded(leaf int) {
	if !p.Lends {
		return
	}
	if d := p.Book.Demand(leaf); d != p.demand[leaf] {
		p.demand[leaf] = d
		p.Eased++
	}
}

// Granted notes that a leaf was given a job: among equals it is the last in turn.
func (p *Pool) Granted(leaf int, units shares.Units) {
	p.Book.Granted(leaf)
	p.grants++
	p.Last[leaf] = p.grants
	p.Owed.take(leaf, units)
}

// Round is R of sharing.md §1 for a pull that offers these units.
func (p *Pool) Round(offered shares.Units) shares.Units {
	return shares.Round(p.full(), p.Book.Held(0), offered)
}

// Policy is which leaves the queues with the same allow_shares and deny_shares run. A queue without either has none.
type Policy struct {
	number uint32 // from 1
	closed []bool // by node: a leaf whose jobs they do not run
}

// adoptPolicies finds which leaves each queue runs. Who may run a job is its shape's business and, beside that, only this.
func (t *Site) adoptPolicies() {
	t.Policies = map[string]*Policy{}
	for _, v := range t.Version.Queues {
		q := t.Queues[v.ID]
		if len(q.AllowShares) == 0 && len(q.DenyShares) == 0 {
			continue
		}
		key := strings.Join(q.AllowShares, "\n") + "\n\n" + strings.Join(q.DenyShares, "\n")
		p := t.Policies[key]
		if p == nil {
			p = &Policy{number: uint32(len(t.Policies) + 1), closed: make([]bool, len(t.Version.Tree.Nodes))}
			for _, leaf := range t.Version.Tree.Leaves() {
				p.closed[leaf] = !q.Runs(t.Version.Tree.Nodes[leaf].Path)
			}
			t.Policies[key] = p
		}
		q.Policy = p
	}
}

// Admits says whether jobs of a leaf may run where the policy is in force; nil: everywhere.
func (p *Policy) Admits(leaf int) bool { return p == nil || !p.closed[leaf] }

// Key tells policies apart; 0: none.
func (p *Policy) Key() uint32 {
	if p == nil {
		return 0
	}
	return p.number
}

// MayRun says whether the queue at a position may run jobs of an outline that a leaf has.
func (t *Site) MayRun(at, leaf int, o *Fit) bool {
	return at < len(o.Queues) && o.Queues[at] && t.Queues[t.Version.Queues[at].ID].Policy.Admits(leaf)
}

// powerAt is the power of the strongest queue of a pool that may run jobs of an outline for a leaf; 0: none may.
func (t *Site) powerAt(leaf int, o *Fit, p *Pool) (most shares.Units) {
	for i, q := range t.Version.Queues {
		if q.Pool == p.Name && t.MayRun(i, leaf, o) {
			most = max(most, shares.Units(q.CorePowerMilli))
		}
	}
	return most
}

// Leaf finds the leaf of a share; false when the site has no such share, or it is no leaf.
func (t *Site) Leaf(share shares.ShareID) (node int, ok bool) {
	node, ok = t.Version.Tree.ByID(share)
	return node, ok && t.Version.Tree.Leaf(node)
}
