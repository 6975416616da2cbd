package site

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Ends of the last endsSpan seconds are looked at, and their rate is that since the oldest of them, or over endsLeast
// seconds when that is longer: a single end of just now is no stream. A lane of the ledger that has more rows in that time
// than endsRows counts for as long as so many rows span.
const (
	endsSpan  = 300
	endsLeast = 10
	endsRows  = 2000
)

// Way is how long it takes until every share holds its new target when nothing is killed: slots that become free go to
// whoever is furthest below its target, so the speed is that of the ends of jobs of those who hold too much.
//
//	ETA = min{t: Σ min(over(j), freed(j)·t) ≥ Σ short(i) − free}
//
// over j the leaves above their target and i those below it; freed(j) are the units a second that ends of j's jobs
// freed of late, for a leaf of which none ended its part of the pool's; free is what nobody holds (shares.Pool.ETA).
type Way struct {
	EndsPerSecond  float64  `json:"ends_per_second" doc:"Ends of jobs a second in the last five minutes, or as far back as 2000 rows of each lane of the ledger reach."`
	FreedPerSecond float64  `json:"freed_per_second" doc:"Units that these ends freed, a second."`
	ETAS           *float64 `json:"eta_s,omitempty" doc:"Seconds until every share holds its target if nothing is killed: the least t with sum of min(over, freed x t) = sum of short - free. Absent: unknown."`
	ETA            string   `json:"eta" doc:"The same in words: what it was computed from, or why it is unknown."`
}

// endRow is how jobs of a share ended at a queue.
type endRow struct {
	ShareID   shares.ShareID
	QueueID   shares.QueueID
	EndsPerS  float64 `db:"ends_per_s"`
	UnitsPerS float64 `db:"units_per_s"`
}

// recentEnds is how jobs ended of late, by pool and share.
func recentEnds(ctx context.Context, tx pgx.Tx, queues []shares.Queue) (map[string]map[shares.ShareID]shares.Ends, error) {
	rows, err := many[endRow](ctx, tx, "recent_ends",
		pgx.StrictNamedArgs{"rows": endsRows, "span_s": float64(endsSpan), "least_s": float64(endsLeast)})
	if err != nil {
		return nil, err
	}
	pools := map[shares.QueueID]string{}
	for _, q := range queues {
		pools[q.ID] = q.Pool
	}
	out := map[string]map[shares.ShareID]shares.Ends{}
	for _, r := range rows {
		pool, ok := pools[r.QueueID]
		if !ok || r.EndsPerS <= 0 {
			continue
		}
		if out[pool] == nil {
			out[pool] = map[shares.ShareID]shares.Ends{}
		}
		out[pool][r.ShareID] = both(out[pool][r.ShareID], shares.Ends{PerSecond: r.EndsPerS, Units: r.UnitsPerS / r.EndsPerS})
	}
	return out, nil
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
		wait, ok := s.pool.ETA(s.round, leaf, byNode)
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
