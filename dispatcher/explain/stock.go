package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Stock says how well every share and shape that has or had jobs is supplied.
func (m Moment) Stock() (list []Stock) {
	free := freeSlots(m.View)
	for b := range m.View.Ready() {
		need, _ := m.View.Shape(b.Shape)
		list = append(list, Stock{Share: b.Share, Shape: b.Shape, User: b.User, Ready: b.Ready,
			StartsPerMinute: m.Starts[Kind{b.Share, b.Shape, b.User}], Startable: startable(m.View.Site, b, need.Cores, free)})
	}
	return list
}

// freeSlots are the free slots of each queue, in file order; -1: it has no bound.
func freeSlots(v machine.View) []int64 {
	free := make([]int64, len(v.Site.Queues))
	for i, q := range v.Site.Queues {
		if free[i] = -1; q.Slots != nil {
			free[i] = max(0, int64(*q.Slots)-v.Queue(q.ID).HeldCores)
		}
	}
	return free
}

// startable is how many jobs of a share and shape the free slots of their queues could start; -1 when one has no bound.
func startable(site shares.Version, b machine.ReadyView, cores int, free []int64) (n int64) {
	if b.Leaf < 0 {
		return 0
	}
	path := site.Tree.Nodes[b.Leaf].Path
	for i, runs := range b.Runs {
		switch {
		case !runs || !site.Queues[i].Runs(path):
		case free[i] < 0:
			return -1
		default:
			n += free[i] / int64(cores)
		}
	}
	return n
}

// ShareStock says how well the leaves at and below a share (empty: all) are supplied at the queue of a name (empty: all). The names of
// queues are shared between sets and not to be changed.
func (m Moment) ShareStock(share, queue string) []ShareStock {
	tree, free, kinds, n, some := m.View.Site.Tree, freeSlots(m.View), map[int][]kindStock{}, m.naming(), someOnly(m.View.Site)
	for b := range m.View.Ready() {
		if b.Leaf < 0 || b.Ready+b.Expected == 0 {
			continue
		}
		need, _ := m.View.Shape(b.Shape)
		names := []string{}
		if len(b.Runs) > 0 {
			if at := n.all(place(b, some), b.Runs); len(at.queues) > 0 {
				names = at.queues
			}
		}
		kinds[b.Leaf] = append(kinds[b.Leaf], kindStock{shape: b.Shape, need: need, queues: names, ready: b.Ready, toCome: b.Expected,
			startable: startable(m.View.Site, b, need.Cores, free), starts: m.Starts[Kind{b.Share, b.Shape, b.User}]})
	}
	out := []ShareStock{}
	for _, leaf := range tree.Leaves() {
		list := kinds[leaf]
		slices.SortFunc(list, func(a, b kindStock) int { return cmp.Or(-cmp.Compare(a.ready, b.ready), cmp.Compare(a.shape, b.shape)) })
		if path := tree.Nodes[leaf].Path; share == "" || path == share || strings.HasPrefix(path, share+"/") {
			out = append(out, stockOf(path, m.View.Site.Queues, list, queue))
		}
	}
	return out
}

// Reasons of gaps; others are those of the filters.
const (
	gapNoJobs = "no jobs"                   // it wants nothing
	gapToCome = "its jobs are not made yet" // the generator is about to
)

// stockOf puts kinds of jobs of one share together, the most numerous first.
func stockOf(path string, queues []shares.Queue, kinds []kindStock, only string) ShareStock {
	st := ShareStock{Share: path, Sets: []QueueSet{}, Gaps: []StockGap{}}
	ready, coming := make([]bool, len(queues)), make([]bool, len(queues))
	for _, k := range kinds {
		next := 0 // names are in the order of the queues
		for i := range queues {
			if next < len(k.queues) && queues[i].Name == k.queues[next] {
				ready[i], coming[i] = ready[i] || k.ready > 0, true
				next++
			}
		}
		if only != "" && !slices.Contains(k.queues, only) {
			continue
		}
		at := slices.IndexFunc(st.Sets, func(s QueueSet) bool { return slices.Equal(s.Queues, k.queues) })
		if at < 0 {
			at = len(st.Sets)
			st.Sets = append(st.Sets, QueueSet{Queues: k.queues})
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

// kindStock is the jobs of a share with the same requirements.
type kindStock struct {
	shape     int32
	need      job.Requirements
	queues    []string // that may run them, in file order
	ready     int64
	toCome    int64
	startable int64
	starts    float64
}
