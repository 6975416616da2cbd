package dispatcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// ShareStock is how well a share is supplied with ready jobs: for each set of queues that run some of its jobs, and at which
// queues it has none, and why. A queue that has ready jobs of one share only cannot honour the others.
type ShareStock struct {
	Share string     `json:"share"`
	Sets  []QueueSet `json:"sets" doc:"By what may run them: jobs that the same queues run."`
	Gaps  []StockGap `json:"gaps" doc:"Queues without a ready job of this share, by the reason."`
}

// QueueSet is the jobs of a share that the same queues may run.
type QueueSet struct {
	Queues          []string `json:"queues" doc:"None: no queue can run them."`
	Ready           int64    `json:"ready"`
	ToCome          int64    `json:"to_come" doc:"Jobs of active tasks that are not generated yet."`
	Startable       int64    `json:"startable" doc:"What the free slots of the queues could start of the smallest of them; -1: no bound."`
	StartsPerMinute float64  `json:"starts_per_minute" doc:"Of the last minutes."`
}

// StockGap is why queues have no ready job of a share.
type StockGap struct {
	Reason string   `json:"reason"`
	Queues []string `json:"queues"`
}

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
		st.Sets[at].add(k)
	}
	st.gaps(queues, kinds, only, func(i int) (bool, bool) { return ready[i], coming[i] })
	return st
}

func (s *QueueSet) add(k kindStock) {
	s.Ready, s.ToCome, s.StartsPerMinute = s.Ready+k.ready, s.ToCome+k.toCome, s.StartsPerMinute+k.starts
	if s.Startable = max(s.Startable, k.startable); k.startable < 0 {
		s.Startable = -1
	}
}

// gaps names the queues that have none ready: what excludes the most numerous kind counts.
func (st *ShareStock) gaps(queues []shares.Queue, kinds []kindStock, only string, has func(int) (ready, coming bool)) {
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
