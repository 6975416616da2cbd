package dispatcher

import (
	"context"
	"math"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/shares"
)

// Standing is the state of all pools as this daemon knows it now.
func (d *Dispatcher) Standing() Standing { return d.standing((*state).addFigures) }

// outlookWithin bounds how long an Outlook waits for the database.
const outlookWithin = 2 * time.Second

// Outlook is the Standing and how long each share waits for its target if nothing is reclaimed, which takes a look at
// the ends of attempts, and how long the next of its jobs has waited, a look at these. When the database does not answer,
// those waits are unknown and the rest is told.
func (d *Dispatcher) Outlook(ctx context.Context) Standing {
	ctx, cancel := context.WithTimeout(ctx, outlookWithin)
	defer cancel()
	ends, err := d.endsLately(ctx)
	if err != nil {
		ends = nil
	}
	var heads []headJob
	st := d.standing(func(s *state, p *pool, to *PoolStanding) {
		s.addFigures(p, to)
		s.addWaits(p, to, ends)
		heads = append(heads, s.headsIn(p)...)
	})
	if waited, err := d.waited(ctx, heads); err == nil {
		standingAddWaited(&st, heads, waited)
	}
	return st
}

// standing with add fills in what takes a solve of its own.
func (d *Dispatcher) standing(add func(*state, *pool, *PoolStanding)) Standing {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	s.settle()
	st := Standing{Version: s.version.Number, At: time.Now().UTC(), PlansAt: s.plans.at.UTC(), Pools: []PoolStanding{}}
	if !s.plans.next.IsZero() {
		next := s.plans.next.UTC()
		st.NextChange = &next
	}
	seen := map[string]bool{}
	for _, q := range s.version.Queues {
		if !seen[q.Pool] {
			seen[q.Pool] = true
			p := s.standing(s.pools[q.Pool])
			if add != nil {
				add(s, s.pools[q.Pool], &p)
			}
			st.Pools = append(st.Pools, p)
		}
	}
	return st
}

// standing of a pool; targets are shares of what roundNow says.
func (s *state) standing(p *pool) PoolStanding {
	r := s.roundNow(p)
	out := PoolStanding{Pool: p.name, Capacity: -1, Round: r.Float(), Held: p.book.Held(0).Float()}
	if p.capacity != shares.Unlimited {
		out.Capacity = p.capacity.Float()
	}
	targets, slots := p.book.Targets(r), p.book.Slots(r)
	ready, heldJobs := s.countsByNode(p)
	for i, n := range s.version.Tree.Nodes {
		if i == 0 {
			continue // the root is the pool
		}
		held := p.book.Held(i).Float()
		out.Shares = append(out.Shares, ShareStanding{Place: explain.Place{ID: n.ID, Path: n.Path, Pool: p.name, Depth: n.Depth,
			Leaf: s.version.Tree.Leaf(i), Weight: n.Plan.Weight, Tier: n.Plan.Tier, Rank: n.Plan.Rank},
			Target: targets[i] / 1000, Slots: slots[i], Held: held, Deficit: targets[i]/1000 - held,
			Demand: p.book.Demand(i).Float(), Ready: ready[i], HeldJobs: heldJobs[i],
			Lag: p.lag[i] / 1000, Remembered: p.book.Lag(i) / 1000})
	}
	return out
}

// addFigures fills in what each share deserves, owns, lends and borrows.
func (s *state) addFigures(p *pool, to *PoolStanding) {
	for i, f := range p.book.Figures(p.capacity)[1:] { // the root is no share
		c := &to.Shares[i]
		c.Owned = f.Owned.Float()
		c.Deserved, c.Own, c.Lent, c.Borrowed = f.Deserved/1000, f.Own.Float(), f.Lent/1000, f.Borrowed/1000
	}
}

// addWaits fills in how long shares wait for their targets (shares.Pool.ETA).
func (s *state) addWaits(p *pool, to *PoolStanding, ends []endRate) {
	wait := p.book.ETAs(shares.Units(math.Round(to.Round*1000)), s.byLeaf(p, ends))
	for i := range to.Shares {
		if w, ok := wait(i + 1); ok { // the root is no share
			seconds := w.Seconds()
			to.Shares[i].AtTarget = &seconds
		}
	}
}

// countsByNode counts ready and held jobs, leaves and what is above them.
func (s *state) countsByNode(p *pool) (ready, held []int64) {
	nodes := s.version.Tree.Nodes
	ready, held = make([]int64, len(nodes)), make([]int64, len(nodes))
	for _, w := range s.windows {
		if w.leaf >= 0 && w.shape.power[p.name] > 0 {
			ready[w.leaf] += max(0, w.ready)
		}
	}
	for share, of := range s.held {
		node, ok := s.version.Tree.ByID(share)
		if !ok {
			continue
		}
		for key, h := range of {
			if q := s.queues[key.queue]; q != nil && q.pool == p && !s.shapes[key.shape].need.Charges() {
				held[node] += h.jobs
			}
		}
	}
	for i := len(nodes) - 1; i > 0; i-- {
		ready[nodes[i].Parent] += ready[i]
		held[nodes[i].Parent] += held[i]
	}
	return ready, held
}
