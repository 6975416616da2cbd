package books

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Holes are the queues that fail nearly all that they get: each gets one job a time.
type Holes map[shares.QueueID]entry.Hole

// Follow notes that a queue is a hole from now on, or is so no more. It gets its first job after the time that it says.
func (hs Holes) Follow(e entry.Holed, now time.Time) {
	if !e.Is {
		delete(hs, e.Queue)
		return
	}
	h, had := hs[e.Queue]
	h.Queue, h.ProbeS = e.Queue, e.ProbeS
	if hs[e.Queue] = h; !had {
		hs.Given(e.Queue, now)
	}
}

// Keeps says whether a queue gets no job now.
func (hs Holes) Keeps(q shares.QueueID, now time.Time) bool {
	return hs.Has(q) && now.Before(hs[q].Next)
}

// Has says whether a queue is one.
func (hs Holes) Has(q shares.QueueID) bool {
	_, is := hs[q]
	return is
}

// Given notes that a queue got a job.
func (hs Holes) Given(q shares.QueueID, now time.Time) {
	if h, is := hs[q]; is {
		h.Next = now.Add(time.Duration(h.ProbeS) * time.Second)
		hs[q] = h
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

// List has all of them, in the order of their ids.
func (hs Holes) List() (list []entry.Hole) {
	for _, id := range slices.Sorted(maps.Keys(hs)) {
		list = append(list, hs[id])
	}
	return list
}
