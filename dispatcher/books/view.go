package books

import (
	"iter"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// PoolView is how the tree stands in a pool.
type PoolView struct {
	Capacity shares.Units // C of the online queues; shares.Unlimited: one of them has no bound
	Offline  shares.Units // held at queues that are not online, beside C
	Book     *shares.Pool // a copy
	Lag      []float64    // by node: what it missed, in thousandths of a unit times seconds
}

// PoolView returns how a pool stands; false when no queue is in it.
func (t *Site) PoolView(name string) (PoolView, bool) {
	p := t.Pool(name)
	if p == nil {
		return PoolView{}, false
	}
	return PoolView{Capacity: p.Capacity, Offline: p.HeldOffline, Book: p.Book.Copy(), Lag: slices.Clone(p.Lag)}, true
}

// QueueView is what runs at a queue.
type QueueView struct {
	HeldCores int64
	HeldJobs  int64
	Polled    bool         // pilots pull here
	Targets   []TargetView // the limits, then the floors
	Hole      *entry.Hole  // it fails nearly all that it gets; nil: it does not
}

// TargetView is target slots with the cores that are held under them.
type TargetView struct {
	entry.Target
	Held int64
	Ref  string // of a limit: as a Refusal names it
}

// QueueView returns what runs at a queue of the site.
func (t *Site) QueueView(id shares.QueueID, polled bool, holes Holes) (w QueueView) {
	q := t.Queues[id]
	if q == nil {
		return w
	}
	w = QueueView{HeldCores: q.HeldCores, HeldJobs: q.HeldJobs, Polled: polled}
	if h, is := holes[id]; is {
		w.Hole = &h
	}
	for _, target := range slices.Concat(q.Targets, q.Floors) {
		w.Targets = append(w.Targets, target.View())
	}
	return w
}

// View shows target slots.
func (t *Target) View() TargetView {
	w := TargetView{Target: t.Target, Held: t.Held}
	if t.Limit != nil {
		w.Ref = t.Limit.Ref
	}
	return w
}

// HeldView counts the leases of a share and shape at a queue.
type HeldView struct {
	Share shares.ShareID
	Shape int32
	Queue shares.QueueID
	Jobs  int64
	Units shares.Units
}

// All lists what all shares hold, in no order; users do not count one by one.
func (hs Held) All() iter.Seq[HeldView] {
	return func(yield func(HeldView) bool) {
		for share, held := range hs {
			merged := map[HeldKey]*HeldView{}
			for key, h := range held {
				key.User = ""
				if had := merged[key]; had != nil {
					had.Jobs, had.Units = had.Jobs+h.Jobs, had.Units+h.Units
				} else {
					merged[key] = &HeldView{share, key.Shape, key.Queue, h.Jobs, h.Units}
				}
			}
			for _, w := range merged {
				if !yield(*w) {
					return
				}
			}
		}
	}
}
