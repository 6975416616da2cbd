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
	Waiting   State = 'w' // until a rule decides
	Withdrawn State = 'o' // killed, or on its way elsewhere
	Finished  State = 'f'
	Failed    State = 'x'
	Cancelled State = 'c'
)

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

// find returns the range that has the id.
func (s ranges) find(id int64) (Range, bool) {
	i := s.from(id)
	if i == len(s) || s[i].Low > id {
		return Range{}, false
	}
	return s[i], true
}

// take removes the ids from low to high of those ranges that fit, and returns what it removed.
func (s *ranges) take(low, high int64, fits func(Range) bool) (taken []Range) {
	for i := s.from(low); i < len(*s) && (*s)[i].Low <= high; {
		r := (*s)[i]
		if !fits(r) {
			i++
			continue
		}
		cut := Range{max(r.Low, low), min(r.High, high), r.Like}
		taken = append(taken, cut)
		left, right := Range{r.Low, cut.Low - 1, r.Like}, Range{cut.High + 1, r.High, r.Like}
		switch hasLeft, hasRight := left.Low <= left.High, right.Low <= right.High; {
		case hasLeft && hasRight:
			(*s)[i] = left
			*s = slices.Insert(*s, i+1, right)
			return taken
		case hasLeft:
			(*s)[i] = left
			i++
		case hasRight:
			(*s)[i] = right
			return taken
		default:
			*s = slices.Delete(*s, i, i+1)
		}
	}
	return taken
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
