package ready

import "fmt"

// Clash is an error that says which jobs of a range are ready already, those of its task anywhere and others where Put would put them;
// nil: none is.
func (s *Set) Clash(key Key, r Range) error {
	if r.High < r.Low {
		return fmt.Errorf("ready jobs %d to %d of task %d: an empty range", r.Low, r.High, r.Task)
	}
	if s.Has(r.Task, r.Low, r.High) {
		return fmt.Errorf("ready jobs %d to %d of task %d: some of them are ready", r.Low, r.High, r.Task)
	}
	if b := s.buffers[key]; b != nil {
		if with := b.ranges.upTo(r.Place, r.High); with != nil && with.High >= r.Low {
			return fmt.Errorf("ready jobs %d to %d of task %d: %d to %d of task %d are ready", r.Low, r.High, r.Task, with.Low, with.High, with.Task)
		}
	}
	return nil
}

// Has says whether a task has jobs in here with ids from low to high.
func (s *Set) Has(id, low, high int64) (is bool) {
	if t := s.tasks[id]; t != nil {
		t.ids.DescendLessOrEqual(at(0, high), func(r *node) bool {
			is = r.High >= low
			return false
		})
	}
	return is
}

// Part is jobs of a task in one buffer, in the part of a range that has certain ids.
type Part struct {
	Key
	Range
	of *node
}

// Within are the ready jobs of a task with ids from low to high, in the order of their ids.
func (s *Set) Within(id, low, high int64) (list []Part) {
	t := s.tasks[id]
	if t == nil {
		return nil
	}
	from := at(0, low)
	t.ids.DescendLessOrEqual(from, func(r *node) bool {
		if r.High >= low {
			from = r
		}
		return false
	})
	t.ids.AscendGreaterOrEqual(from, func(r *node) bool {
		if r.Low > high {
			return false
		}
		part := Part{r.in.key, r.Range, r}
		part.Low, part.High = max(r.Low, low), min(r.High, high)
		list = append(list, part)
		return true
	})
	return list
}

// Move puts the ready jobs of a task with ids from low to high from one buffer into another.
func (s *Set) Move(id int64, from, to Key, low, high int64) {
	if from == to {
		return
	}
	user, _ := s.User(id)
	for _, part := range s.Within(id, low, high) {
		if part.Key != from {
			continue
		}
		s.cut(part)
		if err := s.Put(to, user, part.Range); err != nil {
			panic(err) // a job is ready once: it cannot be
		}
	}
}

// Withdraw takes all ready jobs of a task with ids from low to high out, and returns them in the order of their ids.
func (s *Set) Withdraw(id, low, high int64) []Part {
	list := s.Within(id, low, high)
	for _, part := range list {
		s.cut(part)
	}
	return list
}

// Forget drops a buffer that has no jobs.
func (s *Set) Forget(key Key) {
	if b := s.buffers[key]; b != nil && b.count == 0 {
		delete(s.buffers, key)
	}
}
