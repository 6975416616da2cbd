package gate

import (
	"math"
	"slices"
	"time"

	"github.com/google/btree"

	"github.com/divvyhq/divvy/dispatcher/ready"
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
	if s := ss.meeting(low, low); s != nil {
		from = s
	}
	at, more := low, true
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
		more = yield(Span{max(at, s.low), end}, s.party) && end < math.MaxInt64
		at = end + 1
		return more
	})
	if more && at <= high {
		yield(Span{at, high}, nil)
	}
}

// lingers are claims that nobody holds, and when somebody is to look whether they linger long enough.
type lingers struct {
	ready.Turns[int64, time.Time]
}

// due takes the claims out that are to be looked at.
func (l *lingers) due(now time.Time) (claims []int64) {
	for at, any := l.First(); any && !now.Before(at); at, any = l.First() {
		claims = append(claims, l.Peek())
		l.Drop(l.Peek())
	}
	slices.Sort(claims)
	return claims
}
