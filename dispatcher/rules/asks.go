package rules

import (
	"cmp"
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// Snapshots returns the pools in which shares ask for units: leaves with an active reclaim that have ready jobs and no slot left
// to run them. Offered is what pilots offered lately and got no jobs for. A pool that holds more than its capacity is left alone:
// what ends there is nobody's (P13). The values are the caller's.
func Snapshots(v machine.View, offered map[string]shares.Units) (all []*retry.Snapshot) {
	tree := v.Site.Tree
	if !slices.ContainsFunc(tree.Leaves(), func(leaf int) bool { return tree.ReclaimOf(leaf) != nil }) {
		return nil
	}
	for _, name := range pools(v.Site) {
		a := newAsking(v, name)
		if a.Capacity != shares.Unlimited && a.Book.Held(0) > a.full {
			continue
		}
		s := &retry.Snapshot{Pool: name, R: shares.Round(a.full, a.Book.Held(0), offered[name])}
		for w := range v.Ready() {
			if ask, ok := a.ask(w); ok {
				s.Asks = append(s.Asks, ask)
			}
		}
		if len(s.Asks) > 0 {
			slices.SortStableFunc(s.Asks, func(a, b retry.Ask) int {
				return cmp.Or(cmp.Compare(a.Back.Leaf, b.Back.Leaf), cmp.Compare(a.Back.Units, b.Back.Units), cmp.Compare(a.Back.Job, b.Back.Job))
			})
			s.Book, s.Floors = a.Book, a.floors()
			s.Book.SetCapacity(a.full)
			all = append(all, s)
		}
	}
	return all
}

// pools are the names of the resource groups, in order.
func pools(site shares.Version) (names []string) {
	for _, q := range site.Queues {
		names = append(names, q.Pool)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// asking is a pool in which it is asked who asks.
type asking struct {
	machine.PoolView
	view   machine.View
	tree   *shares.Tree
	name   string
	full   shares.Units                         // capacity, with what runs out beside it
	queues map[shares.QueueID]machine.QueueView // of the pool
}

func newAsking(v machine.View, name string) *asking {
	a := &asking{view: v, tree: v.Site.Tree, name: name, full: shares.Unlimited, queues: map[shares.QueueID]machine.QueueView{}}
	a.PoolView, _ = v.Pool(name)
	if a.Capacity != shares.Unlimited {
		a.full = a.Capacity + a.Offline
	}
	for _, q := range v.Site.Queues {
		if q.Pool == name {
			a.queues[q.ID] = v.Queue(q.ID)
		}
	}
	return a
}

// ask is what the ready jobs of a share and shape could use beyond what is free for them; false if they may run where slots have
// no bound. Free cores count by whole jobs. A queue that holds more than its slots frees none, and nobody is taken from for what
// target slots do not admit.
func (a *asking) ask(w machine.ReadyView) (ask retry.Ask, ok bool) {
	if w.Leaf < 0 || w.Ready == 0 {
		return ask, false
	}
	terms := a.tree.ReclaimOf(w.Leaf)
	need, known := a.view.Shape(w.Shape)
	if terms == nil || !known {
		return ask, false
	}
	free, most, cores, power := int64(0), int64(0), int64(need.Cores), int64(0)
	for i, runs := range w.Runs {
		q := a.view.Site.Queues[i]
		if !runs || q.Pool != a.name || !q.Runs(a.tree.Nodes[w.Leaf].Path) {
			continue
		}
		power = max(power, q.CorePowerMilli)
		if q.State != shares.Online {
			continue
		}
		room, bounded := a.room(a.queues[q.ID], w.Share, job.Class(need))
		left := room
		if q.Slots != nil {
			left = min(room, int64(*q.Slots)-a.queues[q.ID].HeldCores)
		} else if !bounded {
			return ask, false
		}
		if left >= 0 {
			free, most = free+left/cores, most+room/cores
			ask.Queues = append(ask.Queues, q.ID)
		}
	}
	ask.Share, ask.Plan, ask.Cores = w.Share, a.planOf(w.Leaf, terms), cores
	ask.Back = shares.Ask{Leaf: w.Leaf, Terms: *terms, Job: shares.Units(cores * power)}
	ask.Back.Units = shares.Units(min(w.Ready, most, a.startable(w, need, ask.Queues))-free) * ask.Back.Job
	return ask, ask.Back.Job > 0 && ask.Back.Units > 0
}

// room is how many cores the target slots of a queue leave to jobs of a share and class; false: none is about them.
func (a *asking) room(q machine.QueueView, share shares.ShareID, class string) (cores int64, bounded bool) {
	cores = math.MaxInt32
	for _, t := range q.Targets {
		if !t.Floor && (t.Class == "" || t.Class == class) && a.below(share, t.Share) {
			cores, bounded = min(cores, max(0, int64(t.Slots)-t.Held)), true
		}
	}
	return cores, bounded
}

// below says whether a share is that one or below it; 0: all are.
func (a *asking) below(share, top shares.ShareID) bool {
	if top == 0 {
		return true
	}
	for i, ok := a.tree.ByID(share); ok && i >= 0; i = a.tree.Nodes[i].Parent {
		if a.tree.Nodes[i].ID == top {
			return true
		}
	}
	return false
}

// planOf is the share whose plan has the terms of a leaf.
func (a *asking) planOf(leaf int, terms *shares.Reclaim) shares.ShareID {
	for a.tree.Nodes[leaf].Plan.Reclaim != terms {
		leaf = a.tree.Nodes[leaf].Parent
	}
	return a.tree.Nodes[leaf].ID
}

// startable bounds what jobs that need units of resources could use: one at a time, if they do not lack these anywhere. The view
// does not say for how many jobs there are units.
func (a *asking) startable(w machine.ReadyView, need job.Requirements, queues []shares.QueueID) int64 {
	for range need.Units() {
		for _, at := range a.view.Ask(machine.Question{Share: w.Share, Shape: w.Shape, Job: w.First, Queues: queues}) {
			if at.Shortage == nil {
				return 1
			}
		}
		return 0
	}
	return math.MaxInt32
}

// floors are those of the queues of the pool.
func (a *asking) floors() (f retry.Floors) {
	for _, q := range a.view.Site.Queues {
		for _, t := range a.queues[q.ID].Targets {
			if !t.Floor {
				continue
			}
			floor := retry.Floor{Queue: q.ID, Class: t.Class, Spare: t.Held - int64(t.Slots)}
			for _, leaf := range a.tree.Leaves() {
				if a.below(a.tree.Nodes[leaf].ID, t.Share) {
					floor.Leaves = append(floor.Leaves, leaf)
				}
			}
			if len(floor.Leaves) > 0 {
				f.List = append(f.List, floor)
			}
		}
	}
	if len(f.List) == 0 {
		return f
	}
	f.Classes = map[int32]string{}
	for h := range a.view.Held() {
		if need, known := a.view.Shape(h.Shape); known && f.Classes[h.Shape] == "" {
			f.Classes[h.Shape] = job.Class(need)
		}
	}
	return f
}
