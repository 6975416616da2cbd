package ready

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/google/btree"

	"github.com/divvyhq/divvy/shares"
)

// Key names a buffer: whose jobs, and what they need.
type Key struct {
	Share shares.ShareID
	Shape int32
	User  string // of the tasks, where the share gives turns to users; else empty
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.User, b.User))
}

// Range is the jobs of a task from Low to High, at one place, all of which have the same attempt next.
type Range struct {
	Place   int64
	Low     int64
	High    int64
	Task    int64
	Attempt int32
}

// Jobs is how many they are.
func (r Range) Jobs() int64 { return r.High - r.Low + 1 }

// Stand is where the first job of the range stands.
func (r Range) Stand() Stand { return Stand{r.Place, r.Low} }

// before is the order of a buffer.
func before(a, b *node) bool { return a.Place < b.Place || a.Place == b.Place && a.Low < b.Low }

// Set is all ready jobs. Make one with NewSet.
type Set struct {
	buffers map[Key]*Buffer
	tasks   map[int64]*task
	users   map[string]map[int64]struct{} // tasks with ready jobs
	spare   *btree.FreeListG[*node]       // nodes of trees, for all of them
}

// task is where the ready jobs of a task are.
type task struct {
	user  string
	parts map[Key]*ranges      // the task's own ranges of each buffer,
	ids   *btree.BTreeG[*node] // and of all of them, by their ids
}

// NewSet is a set without jobs.
func NewSet() *Set {
	return &Set{buffers: map[Key]*Buffer{}, tasks: map[int64]*task{}, users: map[string]map[int64]struct{}{}, spare: btree.NewFreeListG[*node](256)}
}

func (s *Set) ranges() *ranges { return &ranges{tree: btree.NewWithFreeListG(degree, before, s.spare)} }

// Buffer finds or makes the buffer of a key.
func (s *Set) Buffer(key Key) *Buffer {
	b := s.buffers[key]
	if b == nil {
		b = &Buffer{key: key, ranges: s.ranges()}
		s.buffers[key] = b
	}
	return b
}

// Put makes the jobs of a range ready. The user is that of its task. An error says that some of them are ready already.
func (s *Set) Put(key Key, user string, r Range) error {
	if err := s.Clash(key, r); err != nil {
		return err
	}
	b := s.Buffer(key)
	t := s.task(r.Task, user)
	b.count += r.Jobs()
	part := t.parts[key]
	if part == nil {
		part = s.ranges()
		t.parts[key] = part
	}
	whole := &node{r, b}
	for _, near := range b.ranges.touching(r) {
		b.ranges.drop(near)
		part.drop(near)
		t.ids.Delete(near)
		whole.Low, whole.High = min(whole.Low, near.Low), max(whole.High, near.High)
	}
	b.ranges.add(whole)
	part.add(whole)
	t.ids.ReplaceOrInsert(whole)
	return nil
}

// task finds or makes one.
func (s *Set) task(id int64, user string) *task {
	t := s.tasks[id]
	if t == nil {
		t = &task{user: user, parts: map[Key]*ranges{}, ids: btree.NewWithFreeListG(degree, func(a, b *node) bool { return a.Low < b.Low }, s.spare)}
		s.tasks[id] = t
		if s.users[user] == nil {
			s.users[user] = map[int64]struct{}{}
		}
		s.users[user][id] = struct{}{}
	}
	return t
}

// Take takes one job out of its buffer and returns what it was there, Low and High being the job; false if it is not ready there.
func (s *Set) Take(key Key, place, job int64) (Range, bool) {
	b := s.buffers[key]
	if b == nil {
		return Range{}, false
	}
	r := b.ranges.with(place, job)
	if r == nil {
		return Range{}, false
	}
	taken := Part{key, r.Range, r}
	taken.Low, taken.High = job, job
	s.cut(taken)
	return taken.Range, true
}

// cut takes a part out of its range.
func (s *Set) cut(gone Part) {
	r, low, high := gone.of, gone.Low, gone.High
	b, t := r.in, s.tasks[r.Task]
	part := t.parts[b.key]
	b.count -= gone.Jobs()
	switch {
	case r.Low == low && r.High == high:
		b.ranges.drop(r)
		t.ids.Delete(r)
		if part.drop(r); part.tree.Len() == 0 {
			delete(t.parts, b.key)
		}
		s.forget(r.Task, t)
	case r.Low == low: // in place: it stays where it is among the others
		r.Low = high + 1
	case r.High == high:
		r.High = low - 1
	default:
		rest := *r
		rest.Low = high + 1
		r.High = low - 1
		b.ranges.add(&rest)
		part.add(&rest)
		t.ids.ReplaceOrInsert(&rest)
	}
}

// forget drops a task that has no ready job any more.
func (s *Set) forget(id int64, t *task) {
	if t.ids.Len() > 0 {
		return
	}
	delete(s.tasks, id)
	if delete(s.users[t.user], id); len(s.users[t.user]) == 0 {
		delete(s.users, t.user)
	}
}

// Buffers are all buffers, in the order of their keys.
func (s *Set) Buffers() iter.Seq[*Buffer] {
	return func(yield func(*Buffer) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(s.buffers), compareKeys) {
			if !yield(s.buffers[key]) {
				return
			}
		}
	}
}

// Shares counts the jobs of each share that has some.
func (s *Set) Shares() map[shares.ShareID]int64 {
	all := map[shares.ShareID]int64{}
	for key, b := range s.buffers {
		if b.count > 0 {
			all[key.Share] += b.count
		}
	}
	return all
}

// User is the user of a task that has ready jobs.
func (s *Set) User(id int64) (user string, ok bool) {
	t := s.tasks[id]
	if t == nil {
		return "", false
	}
	return t.user, true
}

// Tasks are the tasks of a user that have ready jobs, in the order of their ids.
func (s *Set) Tasks(user string) []int64 { return slices.Sorted(maps.Keys(s.users[user])) }

// FirstOf are the first jobs of a task, of each buffer that has some: Low is the job. They are in the order of the keys.
func (s *Set) FirstOf(id int64) iter.Seq2[Key, Range] {
	return func(yield func(Key, Range) bool) {
		t := s.tasks[id]
		if t == nil {
			return
		}
		for _, key := range slices.SortedFunc(maps.Keys(t.parts), compareKeys) {
			if first := t.parts[key].first(); !yield(key, first.Range) {
				return
			}
		}
	}
}
