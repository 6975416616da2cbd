package books

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Holes are the queues that fail nearly all that they get: each gets one job a time.
type Holes map[shares.QueueID]*hole

type hole struct {
	every time.Duration
	next  time.Time // when it gets the next one
}

// Follow notes that a queue is a hole from now on, or is so no more. It gets its first job after the time that it says.
func (hs Holes) Follow(e entry.Holed, now time.Time) {
	every := time.Duration(e.ProbeS) * time.Second
	switch h := hs[e.Queue]; {
	case !e.Is:
		delete(hs, e.Queue)
	case h == nil:
		hs[e.Queue] = &hole{every, now.Add(every)}
	default:
		h.every = every
	}
}

// Keeps says whether a queue gets no job now.
func (hs Holes) Keeps(q shares.QueueID, now time.Time) bool {
	h := hs[q]
	return h != nil && now.Before(h.next)
}

// Has says whether a queue is one.
func (hs Holes) Has(q shares.QueueID) bool { return hs[q] != nil }

// Given notes that a queue got a job.
func (hs Holes) Given(q shares.QueueID, now time.Time) {
	if h := hs[q]; h != nil {
		h.next = now.Add(h.every)
	}
}

// Eased says whether a queue may get a job that might not have one before.
func (hs Holes) Eased(was, now time.Time) bool {
	for id := range hs {
		if hs.Keeps(id, was) && !hs.Keeps(id, now) {
			return true
		}
	}
	return false
}

// Hole is a queue that fails nearly all that it gets; see entry.Hole.
type Hole = entry.Hole

// List has all of them, in the order of their ids.
func (hs Holes) List() (list []Hole) {
	for _, id := range slices.Sorted(maps.Keys(hs)) {
		list = append(list, Hole{Queue: id, ProbeS: int32(hs[id].every / time.Second), Next: hs[id].next})
	}
	return list
}

// HolesOf are those of a list.
func HolesOf(list []Hole) Holes {
	hs := Holes{}
	for _, h := range list {
		hs[h.Queue] = &hole{time.Duration(h.ProbeS) * time.Second, h.Next}
	}
	return hs
}
