package dispatcher

import (
	"math"
	"time"
)

// now is the clock of what resources keep for a while.
func (s *state) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// lookAtSupplies has those asked again whose time has come.
func (s *state) lookAtSupplies() {
	if len(s.supplies.by) == 0 {
		return
	}
	s.moment = s.now()
	for _, sup := range s.supplies.by {
		if e := sup.report; e != nil && !e.stale && s.moment.Sub(e.at) > sup.of.ExternalExpires {
			sup.follow()
		}
		if sup.waits.any() && !sup.until.IsZero() && !s.moment.Before(sup.until) {
			sup.until = time.Time{}
			sup.askEverybody()
		}
	}
}

// startableNow bounds how many jobs of a window could start now by the units that are free of what they ask for.
func (s *state) startableNow(w *window) int64 {
	n := int64(math.MaxInt32)
	for i := range w.shape.asks {
		a := &w.shape.asks[i]
		if a.of == nil {
			return 0
		}
		if !a.of.PerQueue {
			b := s.supplyAt(a, nil).book
			n = min(n, max(0, b.Usable()-b.Held())/a.units)
		}
	}
	return n
}
