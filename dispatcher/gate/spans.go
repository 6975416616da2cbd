package gate

import (
	"container/heap"
	"math"
	"time"

	"github.com/google/btree"
)

// spans say which jobs are of which party, in the order of ids.
type spans struct{ tree *btree.BTreeG[*span] }

type span struct {
	low, high int64
	party     *Party
}

func newSpans() *spans {
	return &spans{btree.NewG(32, func(a, b *span) bool { return a.low < b.low })}
}

func (ss *spans) add(low, high int64, p *Party) { ss.tree.ReplaceOrInsert(&span{low, high, p}) }

func (ss *spans) drop(low int64) { ss.tree.Delete(&span{low: low}) }

// with is the span that has a job; nil if none has.
func (ss *spans) with(job int64) (found *span) {
	ss.tree.DescendLessOrEqual(&span{low: job}, func(s *span) bool {
		if job <= s.high {
			found = s
		}
		return false
	})
	return found
}

// meeting is a span with some of the ids; nil if there is none.
func (ss *spans) meeting(low, high int64) (found *span) {
	ss.tree.DescendLessOrEqual(&span{low: high}, func(s *span) bool {
		if low <= s.high {
			found = s
		}
		return false
	})
	return found
}

// split visits the ids piece by piece, those between spans with no party.
func (ss *spans) split(low, high int64, yield func(Span, *Party) bool) {
	from := &span{low: low}
	if s := ss.with(low); s != nil {
		from = s
	}
	at := low
	more := true
	ss.tree.AscendGreaterOrEqual(from, func(s *span) bool {
		if s.low > high {
			return false
		}
		if at < s.low {
			if more = yield(Span{at, s.low - 1}, nil); !more {
				return false
			}
		}
		end := min(s.high, high)
		more = yield(Span{max(at, s.low), end}, s.party)
		if end == math.MaxInt64 {
			more = false
		}
		at = end + 1
		return more
	})
	if more && at <= high {
		yield(Span{at, high}, nil)
	}
}

// lingers are claims that nobody holds, and when somebody is to look whether they linger long enough: a heap.
type lingers []lingering

type lingering struct {
	until time.Time
	claim int64
}

func (l lingers) Len() int { return len(l) }
func (l lingers) Less(i, j int) bool {
	if c := l[i].until.Compare(l[j].until); c != 0 {
		return c < 0
	}
	return l[i].claim < l[j].claim
}
func (l lingers) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push is for package heap.
func (l *lingers) Push(x any) { *l = append(*l, x.(lingering)) }

// Pop is for package heap.
func (l *lingers) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// look notes when a claim is to be looked at.
func (l *lingers) look(claim int64, until time.Time) { heap.Push(l, lingering{until, claim}) }

// due takes the claims out that are to be looked at.
func (l *lingers) due(now time.Time) (claims []int64) {
	for len(*l) > 0 && !now.Before((*l)[0].until) {
		claims = append(claims, heap.Pop(l).(lingering).claim)
	}
	return claims
}
