package logs

import (
	"log/slog"
	"sync"
	"time"
)

// sample counts lines that are alike in a second.
type sample struct {
	most int

	mu   sync.Mutex
	seen map[sampleKey]*bucket
}

type sampleKey struct {
	message string
	level   slog.Level
}

type bucket struct {
	second  int64
	n       int
	leftOut int
}

// leftOut is how many lines of a kind were not written.
type leftOut struct {
	key sampleKey
	n   int
}

// mostMessages bounds how many kinds are told apart: messages are constants of the source, so that there are fewer.
// Should one not be, its lines are written.
const mostMessages = 1000

func newSample(most int) *sample { return &sample{most: most, seen: map[sampleKey]*bucket{}} }

// take says whether a line is written.
func (s *sample) take(at time.Time, key sampleKey) bool {
	if s.most <= 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.seen[key]
	if b == nil {
		if len(s.seen) >= mostMessages {
			return true
		}
		b = &bucket{second: at.Unix()}
		s.seen[key] = b
	}
	if second := at.Unix(); second > b.second {
		b.second, b.n = second, 0
	}
	if b.n >= s.most {
		b.leftOut++
		return false
	}
	b.n++
	return true
}

// over takes what was left out in seconds before now, and forgets kinds that are not written any more.
func (s *sample) over(now time.Time) (all []leftOut) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.seen {
		if b.second >= now.Unix() {
			continue
		}
		if b.leftOut > 0 {
			all = append(all, leftOut{key, b.leftOut})
		}
		delete(s.seen, key)
	}
	return all
}
