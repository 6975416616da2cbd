package ready

import (
	"iter"

	"github.com/google/btree"
)

// degree of the trees: most have a handful of ranges.
const degree = 16

// node is a Range as trees have it, and of which buffer it is.
type node struct {
	Range
	in *Buffer
}

// at is what trees are asked with.
func at(place, id int64) *node { return &node{Range: Range{Place: place, Low: id}} }

// ranges are ordered by place and then by id, and do not overlap. Several trees may have the same node: a cut at its ends changes
// its bounds in place, which leaves it where it is in all.
type ranges struct {
	tree *btree.BTreeG[*node]
	head *node // the first; nil: it is not known, or there is none
}

func (s *ranges) first() *node {
	if s.head == nil {
		s.head, _ = s.tree.Min()
	}
	return s.head
}

func (s *ranges) add(r *node) {
	if s.head != nil && before(r, s.head) {
		s.head = r
	}
	s.tree.ReplaceOrInsert(r)
}

func (s *ranges) drop(r *node) {
	if s.head == r {
		s.head = nil
	}
	s.tree.Delete(r)
}

// upTo is the last range at a place that begins with an id or before it; nil if there is none.
func (s *ranges) upTo(place, id int64) (found *node) {
	if h := s.head; h != nil && h.Place == place && h.Low <= id && id <= h.High {
		return h
	}
	s.tree.DescendLessOrEqual(at(place, id), func(r *node) bool {
		if r.Place == place {
			found = r
		}
		return false
	})
	return found
}

// with is the range that has a job; nil if none has.
func (s *ranges) with(place, job int64) *node {
	if r := s.upTo(place, job); r != nil && job <= r.High {
		return r
	}
	return nil
}

// touching are the ranges that become one with r: right before and right behind it, of the same task and attempt.
func (s *ranges) touching(r Range) (near []*node) {
	for _, id := range [2]int64{r.Low - 1, r.High + 1} {
		if n := s.with(r.Place, id); n != nil && n.Task == r.Task && n.Attempt == r.Attempt {
			near = append(near, n)
		}
	}
	return near
}

// Buffer is the ready jobs of one share and shape.
type Buffer struct {
	key    Key
	ranges *ranges
	count  int64
}

// Key is whose jobs they are.
func (b *Buffer) Key() Key { return b.key }

// Count is how many jobs are ready.
func (b *Buffer) Count() int64 { return b.count }

// First is the range whose Low is the job that comes first; false if there is none.
func (b *Buffer) First() (Range, bool) {
	if r := b.ranges.first(); r != nil {
		return r.Range, true
	}
	return Range{}, false
}

// Ranges are all of them, in the order in which their jobs come.
func (b *Buffer) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		b.ranges.tree.Ascend(func(r *node) bool { return yield(r.Range) })
	}
}

// Ahead is how many jobs come before one at a place.
func (b *Buffer) Ahead(place, job int64) (n int64) {
	b.ranges.tree.Ascend(func(r *node) bool {
		switch {
		case r.Place > place || r.Place == place && r.Low >= job:
			return false
		case r.Place == place && r.High >= job:
			n += job - r.Low
			return false
		}
		n += r.Jobs()
		return true
	})
	return n
}
