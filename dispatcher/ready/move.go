package ready

import (
	"fmt"
	"math"
)

// Clash is an error that says which jobs of a range are ready already where Put would put them; nil: none is.
func (s *Set) Clash(key Key, r Range) error {
	if r.High < r.Low {
		return fmt.Errorf("ready jobs %d to %d of task %d: an empty range", r.Low, r.High, r.Task)
	}
	if b := s.buffers[key]; b != nil {
		if with := b.ranges.meeting(r); with != nil {
			return fmt.Errorf("ready jobs %d to %d of task %d: %d to %d of task %d are ready", r.Low, r.High, r.Task, with.Low, with.High, with.Task)
		}
	}
	return nil
}

// Has says whether a task has jobs in here with ids from low to high.
func (s *Set) Has(id, low, high int64) bool {
	if t := s.tasks[id]; t != nil {
		for _, part := range t.parts {
			if len(part.within(low, high)) > 0 {
				return true
			}
		}
	}
	return false
}

// Within are the ready jobs of a task in one buffer with ids from low to high, in the order of the buffer.
func (s *Set) Within(key Key, id, low, high int64) (list []Range) {
	t := s.tasks[id]
	if t == nil || t.parts[key] == nil {
		return nil
	}
	for _, r := range t.parts[key].within(low, high) {
		cut := *r
		cut.Low, cut.High = max(r.Low, low), min(r.High, high)
		list = append(list, cut)
	}
	return list
}

// Move puts the ready jobs of a task with ids from low to high from one buffer into another. It returns how many these are.
func (s *Set) Move(id int64, from, to Key, low, high int64) (n int64) {
	t := s.tasks[id]
	if t == nil || from == to {
		return 0
	}
	user := t.user
	for _, r := range s.Within(from, id, low, high) {
		s.cut(s.buffers[from], s.buffers[from].ranges.with(r.Place, r.Low), r.Low, r.High)
		if err := s.Put(to, user, r); err != nil {
			panic(err) // a job is ready once: it cannot be
		}
		n += r.Jobs()
	}
	return n
}

// Forget drops a buffer that has no jobs.
func (s *Set) Forget(key Key) {
	if b := s.buffers[key]; b != nil && b.count == 0 {
		delete(s.buffers, key)
	}
}

// within are the ranges that have ids from low to high, in their order. It costs a few looks for each place that there is, however
// many ranges each place has.
func (s *ranges) within(low, high int64) (list []*Range) {
	at := s.first()
	for at != nil {
		place, from := at.Place, at
		if r := s.upTo(place, low); r != nil {
			from = r
		}
		at = nil
		s.tree.AscendGreaterOrEqual(from, func(r *Range) bool {
			switch {
			case r.Place != place:
				at = r
				return false
			case r.Low > high:
				return false
			case r.High >= low:
				list = append(list, r)
			}
			return true
		})
		if at == nil && place < math.MaxInt64 {
			s.tree.AscendGreaterOrEqual(&Range{Place: place + 1, Low: math.MinInt64}, func(r *Range) bool {
				at = r
				return false
			})
		}
	}
	return list
}
