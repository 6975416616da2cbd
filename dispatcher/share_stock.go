package dispatcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Reasons of gaps; others are those of the filters.
const (
	gapNoJobs = "no jobs"                   // it wants nothing
	gapToCome = "its jobs are not made yet" // the generator is about to
)

// kindStock is the jobs of a share with the same requirements, as they were under the lock.
type kindStock struct {
	leaf      int
	need      job.Requirements
	runs      []bool // by position: never written again
	ready     int64
	toCome    int64
	startable int64
	starts    float64
}

// ShareStock says how well the leaves at and below a share (empty: all) are supplied at the queue of a name (empty: all).
// What there is is copied under the lock, and looked at after it.
func (d *Dispatcher) ShareStock(share, queue string) []ShareStock {
	d.mu.Lock()
	v := d.state.version
	kinds := make([]kindStock, 0, len(d.state.windows))
	for _, w := range d.state.windows {
		if n, m := max(0, w.ready), max(0, w.backlog); w.leaf >= 0 && n+m > 0 {
			kinds = append(kinds, kindStock{leaf: w.leaf, need: w.shape.need, runs: w.shape.queues, ready: n, toCome: m,
				startable: d.state.startable(w), starts: w.starts.perMinute})
		}
	}
	d.mu.Unlock()
	slices.SortFunc(kinds, func(a, b kindStock) int { return cmp.Or(cmp.Compare(a.leaf, b.leaf), -cmp.Compare(a.ready, b.ready)) })
	out := []ShareStock{}
	for _, leaf := range v.Tree.Leaves() {
		from, _ := slices.BinarySearchFunc(kinds, leaf, func(k kindStock, leaf int) int { return cmp.Compare(k.leaf, leaf) })
		of := kinds[from:]
		for n, k := range of {
			if k.leaf != leaf {
				of = of[:n]
				break
			}
		}
		if path := v.Tree.Nodes[leaf].Path; share == "" || path == share || strings.HasPrefix(path, share+"/") {
			out = append(out, stockOf(path, v.Queues, of, queue))
		}
	}
	return out
}

// stockOf puts kinds of jobs of one share together, the most numerous first.
func stockOf(path string, queues []shares.Queue, kinds []kindStock, only string) ShareStock {
	st := ShareStock{Share: path, Sets: []QueueSet{}, Gaps: []StockGap{}}
	ready, coming := make([]bool, len(queues)), make([]bool, len(queues))
	sets := map[string]int{}
	for _, k := range kinds {
		names := []string{}
		for i, q := range queues {
			if k.runs[i] && q.Runs(path) {
				names = append(names, q.Name)
				ready[i], coming[i] = ready[i] || k.ready > 0, true
			}
		}
		if only != "" && !slices.Contains(names, only) {
			continue
		}
		key := strings.Join(names, ",")
		at, there := sets[key]
		if !there {
			at = len(st.Sets)
			sets[key] = at
			st.Sets = append(st.Sets, QueueSet{Queues: names})
		}
		queueSetAdd(&st.Sets[at], k)
	}
	shareStockGaps(&st, queues, kinds, only, func(i int) (bool, bool) { return ready[i], coming[i] })
	return st
}

func queueSetAdd(s *QueueSet, k kindStock) {
	s.Ready, s.ToCome, s.StartsPerMinute = s.Ready+k.ready, s.ToCome+k.toCome, s.StartsPerMinute+k.starts
	if s.Startable = max(s.Startable, k.startable); k.startable < 0 {
		s.Startable = -1
	}
}

// gaps names the queues that have none ready: what excludes the most numerous kind counts.
func shareStockGaps(st *ShareStock, queues []shares.Queue, kinds []kindStock, only string, has func(int) (ready, coming bool)) {
	at := map[string]int{}
	for i, q := range queues {
		ready, coming := has(i)
		if ready || only != "" && q.Name != only {
			continue
		}
		reason := gapNoJobs
		switch {
		case coming:
			reason = gapToCome
		case !q.Runs(st.Share):
			reason = job.ClosedTo(q, st.Share)
		case len(kinds) > 0:
			reason = job.Fits(kinds[0].need, q, q.Labels)
		}
		n, there := at[reason]
		if !there {
			n = len(st.Gaps)
			at[reason] = n
			st.Gaps = append(st.Gaps, StockGap{Reason: reason})
		}
		st.Gaps[n].Queues = append(st.Gaps[n].Queues, q.Name)
	}
}
