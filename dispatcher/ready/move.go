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
		if with := b.ranges.meeting(r); with != nil {
			return fmt.Errorf("ready jobs %d to %d of task %d: %d to %d of task %d are ready", r.Low, r.High, r.Task, with.Low, with.High, with.Task)
		}
	}
	return nil
}

// Has says whether a task has jobs in here with ids from low to high.
func (s *Set) Has(id, low, high int64) bool {
	t := s.tasks[id]
	return t != nil && t.ids.any(low, high)
}

// Within are the ready jobs of a task in one buffer with ids from low to high, in the order of their ids.
func (s *Set) Within(key Key, id, low, high int64) (list []Range) {
	t := s.tasks[id]
	if t == nil {
		return nil
	}
	for _, r := range t.ids.within(low, high) {
		if r.in.key == key {
			cut := r.Range
			cut.Low, cut.High = max(r.Low, low), min(r.High, high)
			list = append(list, cut)
		}
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
	for _, r := range t.ids.within(low, high) {
		if r.in.key != from {
			continue
		}
		cut := r.Range
		cut.Low, cut.High = max(r.Low, low), min(r.High, high)
		s.cut(r, cut.Low, cut.High)
		if err := s.Put(to, user, cut); err != nil {
			panic(err) // a job is ready once: it cannot be
		}
		n += cut.Jobs()
	}
	return n
}

// Forget drops a buffer that has no jobs.
func (s *Set) Forget(key Key) {
	if b := s.buffers[key]; b != nil && b.count == 0 {
		delete(s.buffers, key)
	}
}
