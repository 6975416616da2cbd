package ready

import "github.com/google/btree"

// degree of the trees: most have a handful of ranges.
const degree = 16

// node is a Range as trees have it, and of which buffer it is.
type node struct {
	Range
	in *Buffer
}

// at is what trees are asked with.
func at(place, id int64) *node { return &node{Range: Range{Place: place, Low: id}} }

// trees makes trees that share their spare nodes.
type trees struct{ spare *btree.FreeListG[*node] }

func newTrees() *trees { return &trees{btree.NewFreeListG[*node](256)} }

func (t *trees) ranges() *ranges {
	return &ranges{tree: btree.NewWithFreeListG(degree, before, t.spare)}
}

// ranges are ordered by place and then by id, and do not overlap. Several trees may have the same node: a cut at its ends changes
// its bounds in place, which leaves it where it is in all.
type ranges struct {
	tree *btree.BTreeG[*node]
	head *node // the first; nil: it is not known, or there is none
}

func (s *ranges) empty() bool { return s.tree.Len() == 0 }

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

// meeting is a range at the place of r that has one of its ids; nil if none has.
func (s *ranges) meeting(r Range) *node {
	if with := s.upTo(r.Place, r.High); with != nil && with.High >= r.Low {
		return with
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

// byID are the ranges of a task by their ids.
type byID struct{ tree *btree.BTreeG[*node] }

func (t *trees) byID() byID {
	return byID{btree.NewWithFreeListG(degree, func(a, b *node) bool { return a.Low < b.Low }, t.spare)}
}

// within are the ranges that have ids from low to high, in the order of ids.
func (s byID) within(low, high int64) (list []*node) {
	from := at(0, low)
	s.tree.DescendLessOrEqual(from, func(r *node) bool {
		if r.High >= low {
			from = r
		}
		return false
	})
	s.tree.AscendGreaterOrEqual(from, func(r *node) bool {
		if r.Low > high {
			return false
		}
		list = append(list, r)
		return true
	})
	return list
}

// any says whether a range has ids from low to high.
func (s byID) any(low, high int64) (is bool) {
	s.tree.DescendLessOrEqual(at(0, high), func(r *node) bool {
		is = r.High >= low
		return false
	})
	return is
}
