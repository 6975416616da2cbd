package machine

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// holes are the queues that fail nearly all that they get: each gets one job a time.
type holes map[shares.QueueID]*hole

type hole struct {
	every time.Duration
	next  time.Time // when it gets the next one
}

// said follows what people, servers of resources and the leader say of the site.
func (s *state) said(e entry.Entry) {
	switch e := e.(type) {
	case entry.Capped:
		from := s.site.Source()
		from.Capped = &e
		s.adopt(from)
	case entry.Reported:
		s.supplies.Report(e, s.now)
	case entry.Holed:
		s.holes.follow(e, s.now)
	case entry.Owed:
		s.site.Owe(e, s.now)
	}
	s.eased++
}

// follow notes that a queue is a hole from now on, or is so no more. It gets its first job after the time that it says.
func (hs holes) follow(e entry.Holed, now time.Time) {
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

// keeps says whether a queue gets no job now.
func (hs holes) keeps(q shares.QueueID, now time.Time) bool {
	h := hs[q]
	return h != nil && now.Before(h.next)
}

// given notes that a queue got a job.
func (hs holes) given(q shares.QueueID, now time.Time) {
	if h := hs[q]; h != nil {
		h.next = now.Add(h.every)
	}
}

// eased says whether a queue may get a job that might not have one before.
func (hs holes) eased(was, now time.Time) bool {
	for id := range hs {
		if hs.keeps(id, was) && !hs.keeps(id, now) {
			return true
		}
	}
	return false
}

// Hole is a queue that fails nearly all that it gets.
type Hole struct {
	Queue  shares.QueueID `json:"queue"`
	ProbeS int32          `json:"probe_s"` // seconds between its jobs
	Next   time.Time      `json:"next"`    // when it gets the next one
}

// list has all of them, in the order of their ids.
func (hs holes) list() (list []Hole) {
	for _, id := range slices.Sorted(maps.Keys(hs)) {
		list = append(list, Hole{id, int32(hs[id].every / time.Second), hs[id].next})
	}
	return list
}
