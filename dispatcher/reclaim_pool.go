package dispatcher

import (
	"maps"
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// reclaimPools are the pools in which somebody asks: a leaf with an active reclaim, with ready jobs, that has no slot left to
// run them. A pool that holds more than its capacity is left alone: what ends there is nobody's (P13).
func (s *state) reclaimPools() (all []*retry.Snapshot) {
	s.settle()
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		p := s.pools[name]
		if p.capacity != shares.Unlimited && p.book.Held(0) > p.capacity+p.heldOffline {
			continue
		}
		tree := p.book.Tree()
		st := &retry.Snapshot{Pool: name, R: s.roundNow(p)}
		for _, leaf := range tree.Leaves() {
			terms := tree.ReclaimOf(leaf)
			if terms == nil {
				continue
			}
			plan := leaf
			for tree.Nodes[plan].Plan.Reclaim != terms {
				plan = tree.Nodes[plan].Parent
			}
			for _, w := range s.leaves[leaf].windows {
				if a, ok := s.askOf(p, w); ok {
					a.Share, a.Plan, a.Back.Leaf, a.Back.Terms = tree.Nodes[leaf].ID, tree.Nodes[plan].ID, leaf, *terms
					st.Asks = append(st.Asks, a)
				}
			}
		}
		if len(st.Asks) > 0 {
			st.Book, st.Floors = retry.CopyBook(p.book, p.full()), s.floorsAt(p)
			all = append(all, st)
		}
	}
	return all
}

// askOf is what the ready jobs of a window could use in a pool beyond what is free for them; false if they may
// run where slots have no bound. Free cores count by whole jobs. A queue that holds more than its slots frees none, and
// nobody is taken from for what target slots do not admit.
func (s *state) askOf(p *pool, w *window) (a retry.Ask, ok bool) {
	cores := w.shape.need.Cores
	job := shares.Units(cores) * s.powerAt(w.leaf, w.shape.outline, p)
	if w.ready <= 0 || job <= 0 {
		return retry.Ask{}, false
	}
	free, most := int64(0), int64(0)
	for i := range w.shape.queues {
		q := s.queues[s.version.Queues[i].ID]
		if !s.mayRun(i, w.leaf, w.shape.outline) || q.pool != p || q.State != shares.Online {
			continue
		}
		room, bounded := s.roomAt(q, w.key.share, w.shape.outline)
		if !bounded {
			room = math.MaxInt32
		}
		left := room
		if q.Slots != nil {
			left = min(room, int64(*q.Slots)-q.heldCores)
		} else if !bounded {
			return retry.Ask{}, false
		}
		if left >= 0 {
			free, most = free+left/int64(cores), most+room/int64(cores)
			a.Queues = append(a.Queues, q.ID)
		}
	}
	most = min(most, s.startableNow(w))
	a.Cores = int64(cores)
	a.Back.Job, a.Back.Units = job, shares.Units(min(w.ready, most)-free)*job
	return a, a.Back.Units > 0
}

// roundNow is R for shown targets: what is held, and what pilots offered lately and did not get filled.
func (s *state) roundNow(p *pool) shares.Units {
	var offered shares.Units
	for _, q := range s.queues {
		if q.pool == p {
			for _, seen := range q.pilots {
				offered += seen.unfilled
			}
		}
	}
	return s.round(p, offered)
}
