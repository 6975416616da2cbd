package site

import (
	"fmt"
	"math"

	"github.com/divvyhq/divvy/shares"
)

// Way is how long it takes until every share holds its new target when nothing is killed: slots that become free go to
// whoever is furthest below its target, so the speed is that of the ends of jobs of those who hold too much.
//
//	ETA = min{t: Σ min(over(j), freed(j)·t) ≥ Σ short(i) − free}
//
// over j the leaves above their target and i those below it; freed(j) are the units a second that ends of j's jobs
// freed of late, for a leaf of which none ended its part of the pool's; free is what nobody holds (shares.Pool.ETA).
type Way struct {
	EndsPerSecond  float64  `json:"ends_per_second" doc:"Ends of jobs a second in the last five minutes, as shares show has them."`
	FreedPerSecond float64  `json:"freed_per_second" doc:"Units that these ends freed, a second."`
	ETAS           *float64 `json:"eta_s,omitempty" doc:"Seconds until every share holds its target if nothing is killed: the least t with sum of min(over, freed x t) = sum of short - free. Absent: unknown."`
	ETA            string   `json:"eta" doc:"The same in words: what it was computed from, or why it is unknown."`
}

// both adds up two streams of ends.
func both(a, b shares.Ends) shares.Ends {
	rate := a.PerSecond + b.PerSecond
	if rate <= 0 {
		return shares.Ends{}
	}
	return shares.Ends{PerSecond: rate, Units: (a.PerSecond*a.Units + b.PerSecond*b.Units) / rate}
}

// way asks the solver when the targets are reached.
func (s solution) way(ends map[shares.ShareID]shares.Ends) Way {
	byNode := map[int]shares.Ends{}
	var all shares.Ends
	for id, e := range ends {
		all = both(all, e)
		if i, ok := s.tree.ByID(id); ok && s.tree.Leaf(i) {
			byNode[i] = e
		}
	}
	byNode[0] = all
	w := Way{EndsPerSecond: all.PerSecond, FreedPerSecond: all.PerSecond * all.Units / 1000}
	longest := 0.0
	for _, leaf := range s.tree.Leaves() {
		if s.targets[leaf]-float64(s.pool.Held(leaf)) <= shares.Tolerance {
			continue
		}
		wait, ok := s.pool.ETA(s.round, byNode)(leaf)
		if !ok {
			w.ETA = "unknown: no job has ended in the last 5 minutes"
			return w
		}
		longest = wait.Seconds()
		break // all that are short get there together: the largest deficit is served first
	}
	w.ETAS = &longest
	switch {
	case longest > 0:
		w.ETA = fmt.Sprintf("about %.0f s, from %.3g ends a second that freed %.3g units a second of late; nothing is killed",
			math.Ceil(longest), w.EndsPerSecond, w.FreedPerSecond)
	default:
		w.ETA = "now: no share waits for another's jobs to end"
	}
	return w
}
