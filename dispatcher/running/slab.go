package running

import "iter"

// slab has the leases by an index that each keeps as long as it lives, in chunks of one size.
type slab struct {
	chunks [][]Run
	n      int     // indexes, the free ones among them
	free   []int32 // the next lease takes the last of them
}

// chunk is how many leases are made room for at once.
const chunk = 1024

func (s *slab) of(at int32) *Run { return &s.chunks[at/chunk][at%chunk] }

// take is an index that nobody has, and what stands there.
func (s *slab) take() (at int32, l *Run) {
	if last := len(s.free) - 1; last >= 0 {
		at, s.free = s.free[last], s.free[:last]
		return at, s.of(at)
	}
	if s.n == len(s.chunks)*chunk {
		s.chunks = append(s.chunks, make([]Run, chunk))
	}
	s.n++
	return int32(s.n - 1), s.of(int32(s.n - 1))
}

// give gives one back.
func (s *slab) give(at int32, l *Run) {
	l.Job = 0
	s.free = append(s.free, at)
}

func (s *slab) all() iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for at := range s.n {
			if l := s.of(int32(at)); l.Job != 0 && !yield(l) {
				return
			}
		}
	}
}
