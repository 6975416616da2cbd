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
	free, places := freeSlots(m.View), placesOf(m.View)
	for b := range m.View.Ready() {
		need, _ := m.View.Shape(b.Shape)
		list = append(list, Stock{Share: b.Share, Shape: b.Shape, User: b.User, Ready: b.Ready,
			StartsPerMinute: m.Starts[Kind{b.Share, b.Shape, b.User}], Startable: places.of(b).startable(need.Cores, free)})
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

// startable is how many jobs the free slots of queues could start; -1 when one has no bound.
func (p *place) startable(cores int, free []int64) (n int64) {
	for _, i := range p.at {
		if free[i] < 0 {
			return -1
		}
		n += free[i] / int64(cores)
	}
	return n
}

// ShareStock says how well the leaves at and below a share (empty: all) are supplied at the queue of a name (empty: all).
func (m Moment) ShareStock(share, queue string) []ShareStock {
	tree, free, places, kinds := m.View.Site.Tree, freeSlots(m.View), placesOf(m.View), map[int][]kindStock{}
	for b := range m.View.Ready() {
		if b.Leaf < 0 || b.Ready+b.Expected == 0 {
			continue
		}
		need, _ := m.View.Shape(b.Shape)
		at := places.of(b)
		kinds[b.Leaf] = append(kinds[b.Leaf], kindStock{ReadyView: b, place: at, need: need, startable: at.startable(need.Cores, free),
			starts: m.Starts[Kind{b.Share, b.Shape, b.User}]})
	}
	out := []ShareStock{}
	pilots := m.pilotsByQueue()
	for _, leaf := range tree.Leaves() {
		list := kinds[leaf]
		slices.SortFunc(list, func(a, b kindStock) int { return cmp.Or(-cmp.Compare(a.Ready, b.Ready), cmp.Compare(a.Shape, b.Shape)) })
		if path := tree.Nodes[leaf].Path; share == "" || path == share || strings.HasPrefix(path, share+"/") {
			st := stockOf(path, m.View.Site.Queues, list, queue)
			for i := range st.Sets {
				for _, name := range st.Sets[i].Queues {
					st.Sets[i].Pilots += pilots[name].there
					st.Sets[i].ToStart += pilots[name].toStart
				}
			}
			out = append(out, st)
		}
	}
	return out
}

// present counts the pilots of a queue.
type present struct{ there, toStart int }

func (m Moment) pilotsByQueue() map[string]present {
	if m.Pulls == nil {
		return nil
	}
	all := map[string]present{}
	for _, q := range m.View.Site.Queues {
		var p present
		p.there, _ = m.Pulls.PullsAt(q.ID)
		if w, ok := m.Wanted[q.ID]; ok {
			p.toStart = max(0, w.Wanted-w.Alive)
		}
		all[q.Name] = p
	}
	return all
}

// kindStock is the jobs of a share with the same requirements.
type kindStock struct {
	machine.ReadyView
	*place    // where they may run
	need      job.Requirements
	startable int64
	starts    float64
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
		for _, i := range k.at {
			ready[i], coming[i] = ready[i] || k.Ready > 0, true
		}
		if only != "" && !slices.Contains(k.queues, only) {
			continue
		}
		at := slices.IndexFunc(st.Sets, func(s QueueSet) bool { return slices.Equal(s.Queues, k.queues) })
		if at < 0 {
			at = len(st.Sets)
			st.Sets = append(st.Sets, QueueSet{Queues: append([]string{}, k.queues...)})
		}
		st.Sets[at].add(k)
	}
	for i, q := range queues {
		if !ready[i] && (only == "" || q.Name == only) {
			st.gap(q, kinds, coming[i])
		}
	}
	return st
}

func (s *QueueSet) add(k kindStock) {
	s.Ready, s.ToCome, s.StartsPerMinute = s.Ready+k.Ready, s.ToCome+k.Expected, s.StartsPerMinute+k.starts
	if s.Startable = max(s.Startable, k.startable); k.startable < 0 {
		s.Startable = -1
	}
}

// gap names a queue that has none ready: what excludes the most numerous kind counts.
func (st *ShareStock) gap(q shares.Queue, kinds []kindStock, coming bool) {
	reason := gapNoJobs
	switch {
	case coming:
		reason = gapToCome
	case !q.Runs(st.Share):
		reason = job.ClosedTo(q, st.Share)
	case len(kinds) > 0:
		reason = job.Fits(kinds[0].need, q, q.Labels)
	}
	at := slices.IndexFunc(st.Gaps, func(g StockGap) bool { return g.Reason == reason })
	if at < 0 {
		at = len(st.Gaps)
		st.Gaps = append(st.Gaps, StockGap{Reason: reason})
	}
	st.Gaps[at].Queues = append(st.Gaps[at].Queues, q.Name)
}
