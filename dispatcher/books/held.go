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

// Hold counts units at the queue, its pool and the leaf; ok is false when the share is no leaf.
func (t *Site) Hold(q *Queue, share shares.ShareID, of *Fit, n HeldCount) (leaf int, ok bool) {
	p, cores := q.Home, n.Jobs*int64(of.Need.Cores)
	q.HeldJobs += n.Jobs
	q.HeldCores += cores
	t.charge(q.Limit, shares.Units(cores)*1000)
	t.holdTargets(q, share, of.Class, cores)
	if q.State == shares.Online {
		t.charge(p.Limit, n.Units)
	} else {
		p.HeldOffline += n.Units
		p.Book.SetCapacity(p.full())
	}
	if leaf, ok = t.Leaf(share); !ok {
		return leaf, false
	}
	for _, l := range p.Paths[leaf] {
		t.charge(l, n.Units)
	}
	p.Book.Hold(leaf, n.Units)
	if n.Units < 0 {
		p.Eased++
	}
	return leaf, true
}
