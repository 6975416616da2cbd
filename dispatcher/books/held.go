package books

import (
	"cmp"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// Held is what all shares hold, whatever the site is.
type Held map[shares.ShareID]map[HeldKey]*HeldCount

// HeldKey says by whom, with jobs of which shape, and where units are held.
type HeldKey struct {
	Shape int32
	Queue shares.QueueID
	User  string // where the share gives turns to users; else empty
}

// HeldCount is how much that is.
type HeldCount struct {
	Jobs  int64
	Units shares.Units
	Class int // of the shape, in job.Classes
}

// Add counts jobs that begin or cease to hold units.
func (hs Held) Add(share shares.ShareID, key HeldKey, n HeldCount) {
	of := hs[share]
	if of == nil {
		of = map[HeldKey]*HeldCount{}
		hs[share] = of
	}
	h := of[key]
	if h == nil {
		h = &HeldCount{Class: n.Class}
		of[key] = h
	}
	h.Jobs += n.Jobs
	h.Units += n.Units
	if h.Jobs == 0 && h.Units == 0 {
		delete(of, key)
	}
}

// Digest adds all of it.
func (hs Held) Digest(add func(values ...any)) {
	for _, share := range slices.Sorted(maps.Keys(hs)) {
		keys := slices.SortedFunc(maps.Keys(hs[share]), func(a, b HeldKey) int {
			return cmp.Or(cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.User, b.User))
		})
		for _, key := range keys {
			h := hs[share][key]
			add(share, key, h.Jobs, h.Units)
		}
	}
}

// Holding is jobs that begin or cease to hold units at a queue.
type Holding struct {
	Queue *Queue
	Share shares.ShareID
	Class string
	Jobs  int64
	Cores int64 // of all of them
	Units shares.Units
}

// Hold counts units at the queue, its pool and the leaf; ok is false when the share is no leaf.
func (t *Site) Hold(h Holding) (leaf int, ok bool) {
	q, p := h.Queue, h.Queue.Home
	q.HeldJobs += h.Jobs
	q.HeldCores += h.Cores
	t.charge(q.Limit, shares.Units(h.Cores)*1000)
	t.holdTargets(q, h.Share, h.Class, h.Cores)
	if q.State == shares.Online {
		t.charge(p.Limit, h.Units)
	} else {
		p.HeldOffline += h.Units
		p.Book.SetCapacity(p.full())
	}
	if leaf, ok = t.Leaf(h.Share); !ok {
		return leaf, false
	}
	for _, l := range p.Paths[leaf] {
		t.charge(l, h.Units)
	}
	p.Book.Hold(leaf, h.Units)
	if h.Units < 0 {
		p.Eased++
	}
	return leaf, true
}
