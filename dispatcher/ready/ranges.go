package ready

import "github.com/google/btree"

// degree of the trees: most have a handful of ranges.
const degree = 16

// trees makes trees that share their spare nodes.
type trees struct{ spare *btree.FreeListG[*Range] }

func newTrees() *trees { return &trees{btree.NewFreeListG[*Range](256)} }

func (t *trees) ranges() *ranges {
	return &ranges{tree: btree.NewWithFreeListG(degree, before, t.spare)}
}

// ranges are ordered by place and then by id, and do not overlap. Two trees may have the same Range: a cut at its ends changes
// its bounds in place, which leaves it where it is in both.
type ranges struct {
	tree *btree.BTreeG[*Range]
	head *Range // the first; nil: it is not known, or there is none
}

func (s *ranges) empty() bool { return s.tree.Len() == 0 }

func (s *ranges) first() *Range {
	if s.head == nil {
		s.head, _ = s.tree.Min()
	}
	return s.head
}

func (s *ranges) add(r *Range) {
	if s.head != nil && before(r, s.head) {
		s.head = r
	}
	s.tree.ReplaceOrInsert(r)
}

func (s *ranges) drop(r *Range) {
	if s.head == r {
		s.head = nil
	}
	s.tree.Delete(r)
}

// upTo is the last range at a place that begins with an id or before it; nil if there is none.
func (s *ranges) upTo(place, id int64) (found *Range) {
	if h := s.head; h != nil && h.Place == place && h.Low <= id && id <= h.High {
		return h
	}
	s.tree.DescendLessOrEqual(&Range{Place: place, Low: id}, func(r *Range) bool {
		if r.Place == place {
			found = r
		}
		return false
	})
	return found
}

// with is the range that has a job; nil if none has.
func (s *ranges) with(place, job int64) *Range {
	if r := s.upTo(place, job); r != nil && job <= r.High {
		return r
	}
	return nil
}

// meeting is a range at the place of r that has one of its ids; nil if none has.
func (s *ranges) meeting(r Range) *Range {
	if with := s.upTo(r.Place, r.High); with != nil && with.High >= r.Low {
		return with
	}
	return nil
}

// touching are the ranges that become one with r: right before and right behind it, of the same task and attempt.
func (s *ranges) touching(r Range) (near []*Range) {
	for _, id := range [2]int64{r.Low - 1, r.High + 1} {
		if n := s.with(r.Place, id); n != nil && n.Task == r.Task && n.Attempt == r.Attempt {
			near = append(near, n)
		}
	}
	return near
}
