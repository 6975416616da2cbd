package fold

import (
	"cmp"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// State is a letter for where a job stands.
type State byte

// The states of jobs. The first three have no lease and are live; the last three are final.
const (
	Ready     State = 'r'
	Paused    State = 'p' // it would be ready, but its task is paused
	Waiting   State = 'w' // until a rule decides
	Finished  State = 'f'
	Failed    State = 'x'
	Cancelled State = 'c'
)

// Final says whether a job in this state has no further attempt.
func (s State) Final() bool { return s == Finished || s == Failed || s == Cancelled }

// Range has the jobs with ids from Low to High, which are all alike and have no lease.
type Range struct {
	Low  int64
	High int64
	Like
}

// Like is what jobs of a range have in common.
type Like struct {
	Task    int64
	Place   int64
	Share   shares.ShareID
	Shape   int32
	Attempt int32 // the next one
	State   State
}

// Jobs is how many they are.
func (r Range) Jobs() int64 { return r.High - r.Low + 1 }

// ranges are disjoint and in the order of their ids; neighbours differ.
type ranges []Range

// from is the index of the first range that ends at id or later.
func (s ranges) from(id int64) int {
	i, _ := slices.BinarySearchFunc(s, id, func(r Range, id int64) int { return cmp.Compare(r.High, id) })
	return i
}

func (s ranges) find(id int64) (Range, bool) {
	i := s.from(id)
	if i == len(s) || s[i].Low > id {
		return Range{}, false
	}
	return s[i], true
}

// take removes the ids from low to high of those ranges that fit, and returns what it removed.
func (s *ranges) take(low, high int64, fits func(Range) bool) (taken []Range) {
	return s.cut(low, high, fits, func(Like) (Like, bool) { return Like{}, false })
}

// turn makes the ids from low to high of those ranges that fit alike to something else, and returns what they were.
func (s *ranges) turn(low, high int64, fits func(Range) bool, into func(Like) Like) (was []Range) {
	return s.cut(low, high, fits, func(l Like) (Like, bool) { return into(l), true })
}

// cut is take or turn, as into says what is left. However many ranges they are, it goes over them once.
func (s *ranges) cut(low, high int64, fits func(Range) bool, into func(Like) (left Like, ok bool)) (was []Range) {
	first := s.from(low)
	start := max(0, first-1) // the neighbours may be alike then
	var few [4]Range         // a job that is taken out of a range leaves two and the neighbours
	now := ranges(few[:0])
	end := start
	for ; end < len(*s) && (end <= first || (*s)[end-1].Low <= high); end++ {
		r := (*s)[end]
		if r.High < low || r.Low > high || !fits(r) {
			now = now.with(r)
			continue
		}
		cut := Range{max(r.Low, low), min(r.High, high), r.Like}
		was = append(was, cut)
		if r.Low < cut.Low {
			now = now.with(Range{r.Low, cut.Low - 1, r.Like})
		}
		if left, ok := into(r.Like); ok {
			now = now.with(Range{cut.Low, cut.High, left})
		}
		if cut.High < r.High {
			now = now.with(Range{cut.High + 1, r.High, r.Like})
		}
	}
	if len(was) > 0 {
		*s = slices.Replace(*s, start, end, now...)
	}
	return was
}

// with adds a range behind all others.
func (s ranges) with(r Range) ranges {
	if last := len(s) - 1; last >= 0 && s[last].Like == r.Like && s[last].High+1 == r.Low {
		s[last].High = r.High
		return s
	}
	return append(s, r)
}

// add puts a range in, one with neighbours that are alike. It takes the ids from whatever had them before, and returns that.
func (s *ranges) add(r Range) (displaced []Range) {
	displaced = s.take(r.Low, r.High, func(Range) bool { return true })
	i := s.from(r.Low)
	if i < len(*s) && (*s)[i].Like == r.Like && (*s)[i].Low == r.High+1 {
		r.High = (*s)[i].High
		*s = slices.Delete(*s, i, i+1)
	}
	if i > 0 && (*s)[i-1].Like == r.Like && (*s)[i-1].High == r.Low-1 {
		(*s)[i-1].High = r.High
		return displaced
	}
	*s = slices.Insert(*s, i, r)
	return displaced
}

// RangeChanges turn the ranges of before a step into those of after it.
type RangeChanges struct {
	Removed []int64 // by their High
	Lowered []Range // only Low is another one
	Added   []Range
}

// changes compares the ranges of before with those of after.
func changes(before, after ranges) (c RangeChanges) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].High < after[0].High:
			c.Removed, before = append(c.Removed, before[0].High), before[1:]
		case len(before) == 0 || after[0].High < before[0].High:
			c.Added, after = append(c.Added, after[0]), after[1:]
		default:
			switch {
			case before[0] == after[0]:
			case before[0].Like == after[0].Like:
				c.Lowered = append(c.Lowered, after[0])
			default:
				c.Removed, c.Added = append(c.Removed, before[0].High), append(c.Added, after[0])
			}
			before, after = before[1:], after[1:]
		}
	}
	return c
}
