package site

import (
	"maps"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// PoolTargets is what a change does to the targets of one pool under the live demand. Figures are in units.
type PoolTargets struct {
	Pool           string         `json:"pool"`
	CapacityBefore float64        `json:"capacity_before" doc:"Units of the online queues; -1 = unlimited."`
	CapacityAfter  float64        `json:"capacity_after"`
	RoundBefore    float64        `json:"round_before" doc:"R: the units that targets are shares of."`
	RoundAfter     float64        `json:"round_after"`
	Shares         []TargetChange `json:"shares" doc:"The new tree, parents before children, then removed shares."`
}

// TargetChange is the target of one share before and after a change. A new share has no target before, a
// removed one none after.
type TargetChange struct {
	ID     shares.ShareID `json:"id,omitempty" doc:"0: new."`
	Path   string         `json:"path"`
	From   string         `json:"from,omitempty" doc:"Path before, if that was another one."`
	Depth  int            `json:"depth" doc:"1: below the root."`
	Leaf   bool           `json:"leaf"`
	Before *float64       `json:"before,omitempty"`
	After  *float64       `json:"after,omitempty"`
}

// Capacity is what the online queues of a pool may run at once: shares.Unlimited if one of them has no limit.
func Capacity(v shares.Version, pool string) shares.Units {
	var sum shares.Units
	for _, queue := range v.Queues {
		if queue.Pool != pool || queue.State != shares.Online {
			continue
		}
		u, limited := queue.Capacity()
		if !limited {
			return shares.Unlimited
		}
		sum += u
	}
	return sum
}

// Targets solves one pool of a version for a demand: the target of each share in units, and the R that they
// are shares of. Demand of shares that the tree does not have, or that have children, is left out. Windows
// must have been applied (Tree.At).
func Targets(v shares.Version, pool string, d Demand) (targets map[shares.ShareID]float64, round shares.Units) {
	p := shares.NewPool(v.Tree, pool)
	for id, held := range d.Held {
		if i, ok := v.Tree.ByID(id); ok && v.Tree.Leaf(i) {
			p.Hold(i, held)
		}
	}
	for id, want := range d.Want {
		if i, ok := v.Tree.ByID(id); ok && v.Tree.Leaf(i) {
			p.SetWant(i, want)
		}
	}
	round = shares.Round(Capacity(v, pool), p.Held(0), d.Offered)
	targets = make(map[shares.ShareID]float64, len(v.Tree.Nodes))
	for i, t := range p.Targets(round) {
		targets[v.Tree.Nodes[i].ID] = t / 1000
	}
	return targets, round
}

// moved is the demand once live work has changed its share.
func (d Demand) moved(from, to shares.ShareID) Demand {
	shift := func(m map[shares.ShareID]shares.Units) map[shares.ShareID]shares.Units {
		if m[from] == 0 {
			return m
		}
		m = maps.Clone(m)
		m[to] += m[from]
		delete(m, from)
		return m
	}
	d.Held, d.Want = shift(d.Held), shift(d.Want)
	return d
}

// targets compares before and after for every pool of either version, in the plans that are in force at now.
func (c *transition) targets(now time.Time) []PoolTargets {
	out := []PoolTargets{}
	if c.store.hooks.Standing == nil {
		return out
	}
	before, after := c.before.Version(), c.next.Version()
	before.Tree, after.Tree = before.Tree.At(now), after.Tree.At(now)
	live := c.store.hooks.Standing()
	for _, pool := range poolNames(append(before.Queues[:len(before.Queues):len(before.Queues)], after.Queues...)) {
		d := live[pool]
		old, oldRound := Targets(before, pool, d)
		for _, m := range c.moves {
			d = d.moved(m.from.ID, after.Tree.Nodes[m.to].ID)
		}
		fresh, round := Targets(after, pool, d)
		out = append(out, PoolTargets{Pool: pool, CapacityBefore: figure(Capacity(before, pool)), CapacityAfter: figure(Capacity(after, pool)),
			RoundBefore: oldRound.Float(), RoundAfter: round.Float(), Shares: c.compare(old, fresh)})
	}
	return out
}

func (c *transition) compare(before, after map[shares.ShareID]float64) []TargetChange {
	var out []TargetChange
	for i := range c.next.Tree.Nodes[1:] {
		n, former := &c.next.Tree.Nodes[i+1], c.shares[i+1]
		t := TargetChange{ID: former.ID, Path: n.Path, Depth: n.Depth, Leaf: c.next.Tree.Leaf(i + 1)}
		fresh := after[n.ID]
		t.After = &fresh
		if former.ID != 0 {
			old := before[former.ID]
			t.Before = &old
			if former.Path != n.Path {
				t.From = former.Path
			}
		}
		out = append(out, t)
	}
	for _, l := range c.gone {
		old := before[l.ID]
		i, _ := c.before.Tree.ByID(l.ID)
		out = append(out, TargetChange{ID: l.ID, Path: l.Path, Depth: c.before.Tree.Nodes[i].Depth, Leaf: l.Leaf, Before: &old})
	}
	return out
}

// figure is u in units; -1 stands for unlimited, which JSON has no number for.
func figure(u shares.Units) float64 {
	if u >= shares.Unlimited {
		return -1
	}
	return u.Float()
}
