package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// survey is how all stood when Survey last looked; what /metrics shows of shares, queues and locks.
type survey struct {
	at       time.Time
	version  int64
	daemons  int
	fairness map[string]fairness // by pool
	shares   []ShareStanding     // those that have metrics of their own
	cells    []shareCell
	queues   []QueueStanding
	locks    []lockRow
	looked   bool           // for locks: they are shown, held or not
	leftOut  map[string]int // of shares, queues and cells: there are more than are shown

	ready, toCome, held int64
	gaps                int
}

// fairness of a pool, by held and target of its leaves that want something.
type fairness struct {
	jain      float64       // Jain's index of held/target: 1 when all have the same part of their targets, 1/n when one has all
	deviation float64       // units that the share furthest from its target is off
	starving  int           // shares with ready jobs and a target of a unit or more that hold nothing while others do
	longest   time.Duration // that one of them has done so
}

// starved is since when shares starve. One Survey at a time.
type starved map[starvedKey]time.Time

type starvedKey struct {
	pool  string
	share shares.ShareID
}

type lockRow struct {
	Class   int64
	Held    int64
	Waiting int64
	Longest float64 `db:"longest_s"`
}

// Survey looks at how everything stands, for the metrics that are not counted as things happen. It returns how many
// shares it looked at. Call it from one goroutine.
func (d *Dispatcher) Survey(ctx context.Context) (int, error) {
	s := &survey{at: time.Now(), daemons: d.Daemons(), fairness: map[string]fairness{}, queues: d.Queues(), leftOut: map[string]int{}}
	st := d.standing(nil)
	s.version = st.Version
	next, n := starved{}, 0
	for i := range st.Pools {
		p := &st.Pools[i]
		n += len(p.Shares)
		s.fairness[p.Pool] = d.fairnessOf(p, s.at, next)
		for j := range p.Shares {
			if sh := &p.Shares[j]; d.cfg.ShareMetrics.has(sh) {
				s.shares = append(s.shares, *sh)
			}
		}
	}
	d.starved = next
	for i := range s.queues {
		s.held += s.queues[i].HeldJobs
	}
	d.surveyStock(s)
	s.leftOut["job_waits"], s.leftOut["attempts"] = d.waitsLeftOut(), d.metrics.ends.endsLeftOut()
	if d.cfg.ShareMetrics == QueueShares {
		s.cells = d.shareCells()
	}
	s.bound()
	defer d.survey.Store(s)
	if len(d.Seniors()) > 0 {
		return n, nil // the eldest tells of the locks: they are the same for all
	}
	var err error
	if s.locks, err = collect[lockRow](ctx, d.cfg.Pool, "lock_waits", nil); err != nil {
		return n, fmt.Errorf("survey: %w", err)
	}
	s.looked = true
	return n, nil
}

// fairnessOf a pool; next takes those that starve.
func (d *Dispatcher) fairnessOf(p *PoolStanding, now time.Time, next starved) fairness {
	f := fairness{jain: 1}
	var n, sum, squares float64
	for i := range p.Shares {
		s := &p.Shares[i]
		if !s.Leaf || s.Target <= 0 || s.Ready == 0 && s.Held == 0 {
			continue
		}
		part := s.Held / s.Target
		n, sum, squares = n+1, sum+part, squares+part*part
		f.deviation = max(f.deviation, s.Deficit, -s.Deficit)
		if s.Ready > 0 && s.Target >= 1 && s.Held == 0 && p.Held > 0 {
			key := starvedKey{p.Pool, s.ID}
			since, ok := d.starved[key]
			if !ok {
				since = now
			}
			next[key] = since
			f.starving++
			f.longest = max(f.longest, now.Sub(since))
		}
	}
	if squares > 0 {
		f.jain = sum * sum / (n * squares)
	}
	return f
}

// surveyStock counts ready jobs and those to come, and the pairs of a leaf and a queue where jobs could run, are still to
// be made, and none is ready. What there is is copied under the lock, and looked at after it.
func (d *Dispatcher) surveyStock(s *survey) {
	d.mu.Lock()
	v := d.state.version
	var kinds []kindStock
	for _, w := range d.state.windows {
		if n, m := max(0, w.ready), max(0, w.backlog); w.leaf >= 0 && n+m > 0 {
			kinds = append(kinds, kindStock{leaf: w.leaf, runs: w.shape.queues, ready: n, toCome: m})
		}
	}
	d.mu.Unlock()
	type supply struct{ ready, coming []bool }
	of := map[int]*supply{}
	for _, k := range kinds {
		s.ready, s.toCome = s.ready+k.ready, s.toCome+k.toCome
		if k.toCome > 0 && of[k.leaf] == nil {
			of[k.leaf] = &supply{make([]bool, len(v.Queues)), make([]bool, len(v.Queues))}
		}
	}
	for _, k := range kinds {
		to := of[k.leaf]
		if to == nil {
			continue
		}
		for i, runs := range k.runs {
			to.ready[i] = to.ready[i] || runs && k.ready > 0
			to.coming[i] = to.coming[i] || runs && k.toCome > 0
		}
	}
	for leaf, to := range of {
		path := v.Tree.Nodes[leaf].Path
		for i, q := range v.Queues {
			if to.coming[i] && !to.ready[i] && q.State == shares.Online && q.Runs(path) {
				s.gaps++
			}
		}
	}
}

// shareCell is what a share holds at a queue.
type shareCell struct {
	share, queue string
	jobs         int64
}

func (d *Dispatcher) shareCells() []shareCell {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	var cells []shareCell
	for id, of := range s.held {
		node, ok := s.version.Tree.ByID(id)
		if !ok {
			continue
		}
		at := map[string]int64{}
		for key, h := range of {
			if q := s.queues[key.queue]; q != nil && !s.shapes[key.shape].need.Charges() {
				at[q.Name] += h.jobs
			}
		}
		for queue, jobs := range at {
			if jobs > 0 {
				cells = append(cells, shareCell{s.version.Tree.Nodes[node].Path, queue, jobs})
			}
		}
	}
	return cells
}

// Most lines of /metrics of a kind, whatever the site file says.
const (
	mostShareMetrics = 5_000
	mostQueueMetrics = 5_000
	mostCellMetrics  = 20_000
)

// bound leaves out what is too much, and says how much that is.
func (s *survey) bound() {
	s.shares = cutTo(s, "shares", s.shares, mostShareMetrics)
	s.queues = cutTo(s, "queues", s.queues, mostQueueMetrics)
	s.cells = cutTo(s, "share_queues", s.cells, mostCellMetrics)
}

func cutTo[T any](s *survey, of string, list []T, most int) []T {
	s.leftOut[of] = max(0, len(list)-most)
	return list[:min(len(list), most)]
}

// lockName of a row.
func (r lockRow) name() string { return pg.LockName(int32(r.Class)) }
