package site

import (
	"context"
	"maps"
	"time"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// PoolTargets is what a change does to the targets of one pool under the live demand. Figures are in units.
type PoolTargets struct {
	Pool           string         `json:"pool"`
	CapacityBefore float64        `json:"capacity_before" doc:"Units of the online queues; -1 = unlimited."`
	CapacityAfter  float64        `json:"capacity_after"`
	RoundBefore    float64        `json:"round_before" doc:"R: the units that targets are shares of."`
	RoundAfter     float64        `json:"round_after"`
	Way            Way            `json:"way" doc:"How long the way from what is held to the targets after the change takes."`
	Shares         []TargetChange `json:"shares" doc:"The new tree, parents before children, then removed shares."`
}

// TargetChange is the target of one share before and after a change. A new share has no target before, a
// removed one none after. Whole units are apportioned level by level and add up; targets are what the pick works by.
type TargetChange struct {
	ID          shares.ShareID `json:"id,omitempty" doc:"0: new."`
	Path        string         `json:"path"`
	From        string         `json:"from,omitempty" doc:"Path before, if that was another one."`
	Depth       int            `json:"depth" doc:"1: below the root."`
	Leaf        bool           `json:"leaf"`
	Before      *float64       `json:"before,omitempty"`
	After       *float64       `json:"after,omitempty"`
	SlotsBefore int64          `json:"slots_before" doc:"Target before in whole units."`
	SlotsAfter  int64          `json:"slots_after"`
	Gain        int64          `json:"gain" doc:"Whole units that it gains; negative: that it loses."`
	Held        float64        `json:"held" doc:"Units that it holds now."`
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

// solution is one pool of a version, solved for a demand.
type solution struct {
	tree    *shares.Tree
	pool    *shares.Pool
	round   shares.Units // R
	targets []float64    // by node, in thousandths
	slots   []int64
}

// solve books the demand and solves the pool. Demand of shares that the tree does not have, or that have children, is
// left out. Windows must have been applied (Tree.At).
func solve(v shares.Version, pool string, d Demand) solution {
	p := shares.NewPool(v.Tree, pool)
	leaf := func(id shares.ShareID) (int, bool) {
		i, ok := v.Tree.ByID(id)
		return i, ok && v.Tree.Leaf(i)
	}
	for id, held := range d.Held {
		if i, ok := leaf(id); ok {
			p.Hold(i, held)
		}
	}
	for id, want := range d.Want {
		if i, ok := leaf(id); ok {
			p.SetWant(i, want)
		}
	}
	round := shares.Round(Capacity(v, pool), p.Held(0), d.Offered)
	return solution{tree: v.Tree, pool: p, round: round, targets: p.Targets(round), slots: p.Slots(round)}
}

// of is the target, the whole units and the held units of a share; zeros when the tree does not have it.
func (s solution) of(id shares.ShareID) (target float64, slots int64, held float64) {
	i, ok := s.tree.ByID(id)
	if !ok {
		return 0, 0, 0
	}
	return s.targets[i] / 1000, s.slots[i], s.pool.Held(i).Float()
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
	if e, ok := d.Ends[from]; ok {
		d.Ends = maps.Clone(d.Ends)
		d.Ends[to] = both(d.Ends[to], e)
		delete(d.Ends, from)
	}
	return d
}

// targets compares before and after for every pool of either version, in the plans that are in force at a time.
func (c *transition) targets(ctx context.Context, at time.Time) ([]PoolTargets, error) {
	out := []PoolTargets{}
	if c.store.hooks.Standing == nil {
		return out, nil
	}
	before, after := c.before.Version(), c.next.Version()
	before.Tree, after.Tree = before.Tree.At(at), after.Tree.At(at)
	live, err := c.store.hooks.Standing(ctx)
	if err != nil {
		return nil, err
	}
	for _, pool := range file.PoolNames(append(before.Queues[:len(before.Queues):len(before.Queues)], after.Queues...)) {
		d := live[pool]
		old := solve(before, pool, d)
		for _, m := range c.moves {
			d = d.moved(m.from.ID, after.Tree.Nodes[m.to].ID)
		}
		fresh := solve(after, pool, d)
		out = append(out, PoolTargets{Pool: pool, CapacityBefore: figure(Capacity(before, pool)), CapacityAfter: figure(Capacity(after, pool)),
			RoundBefore: old.round.Float(), RoundAfter: fresh.round.Float(), Way: fresh.way(d.Ends), Shares: c.compare(old, fresh)})
	}
	return out, nil
}

func (c *transition) compare(before, after solution) []TargetChange {
	var out []TargetChange
	for i := range c.next.Tree.Nodes[1:] {
		n, former := &c.next.Tree.Nodes[i+1], c.shares[i+1]
		t := TargetChange{ID: former.ID, Path: n.Path, Depth: n.Depth, Leaf: c.next.Tree.Leaf(i + 1)}
		var fresh, old float64
		fresh, t.SlotsAfter, t.Held = after.of(n.ID)
		t.After = &fresh
		if former.ID != 0 {
			old, t.SlotsBefore, t.Held = before.of(former.ID)
			t.Before = &old
			if former.Path != n.Path {
				t.From = former.Path
			}
		}
		t.Gain = t.SlotsAfter - t.SlotsBefore
		out = append(out, t)
	}
	for _, l := range c.gone {
		i, _ := c.before.Tree.ByID(l.ID)
		t := TargetChange{ID: l.ID, Path: l.Path, Depth: c.before.Tree.Nodes[i].Depth, Leaf: l.Leaf}
		var old float64
		old, t.SlotsBefore, t.Held = before.of(l.ID)
		t.Before, t.Gain = &old, -t.SlotsBefore
		out = append(out, t)
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
