package dispatcher

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// reclaimPool is the standing of a pool at one moment, with the shares in it that may ask for units.
type reclaimPool struct {
	pool string
	book *shares.Pool // a copy, in which reclaims under way have come true
	r    shares.Units // that targets are shares of
	asks []ask
	over map[shares.ShareID]shares.Units // by claimer: on its way already, for ready jobs that no ask was cut by yet
	kept kept
}

// ask is what ready jobs of one shape could use in place of those that run.
type ask struct {
	share  shares.ShareID
	plan   shares.ShareID // whose reclaim it is
	back   shares.Ask
	cores  int
	queues []int32 // where they may run, and where all is held
}

// reclaimPools are the pools in which somebody asks: a leaf with an active reclaim, with ready jobs, that has no slot left to
// run them. A pool that holds more than its capacity is left alone: what ends there is nobody's (P13).
func (s *state) reclaimPools() (all []*reclaimPool) {
	s.settle()
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		p := s.pools[name]
		if p.capacity != shares.Unlimited && p.book.Held(0) > p.capacity+p.heldOffline {
			continue
		}
		tree := p.book.Tree()
		st := &reclaimPool{pool: name, r: s.roundNow(p), over: map[shares.ShareID]shares.Units{}}
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
					a.share, a.plan, a.back.Leaf, a.back.Terms = tree.Nodes[leaf].ID, tree.Nodes[plan].ID, leaf, *terms
					st.asks = append(st.asks, a)
				}
			}
		}
		if len(st.asks) > 0 {
			st.book, st.kept = copyBook(p.book, p.full()), s.keptAt(p)
			all = append(all, st)
		}
	}
	return all
}

// askOf is what the ready jobs of a window could use in a pool beyond what is free for them; false if they may
// run where slots have no bound. Free cores count by whole jobs. A queue that holds more than its slots frees none, and
// nobody is taken from for what target slots do not admit.
func (s *state) askOf(p *pool, w *window) (a ask, ok bool) {
	cores := w.shape.need.Cores
	job := shares.Units(cores) * s.powerAt(w.leaf, w.shape.outline, p)
	if w.ready <= 0 || job <= 0 {
		return ask{}, false
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
			return ask{}, false
		}
		if left >= 0 {
			free, most = free+left/int64(cores), most+room/int64(cores)
			a.queues = append(a.queues, int32(q.ID))
		}
	}
	most = min(most, s.startableNow(w))
	a.cores = cores
	a.back.Job, a.back.Units = job, shares.Units(min(w.ready, most)-free)*job
	return a, a.back.Units > 0
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

// copyBook is the same standing for somebody else's use, at the capacity of its pool.
func copyBook(of *shares.Pool, capacity shares.Units) *shares.Pool {
	tree := of.Tree()
	book := shares.NewPool(tree, of.Name())
	book.SetCapacity(capacity)
	for _, leaf := range tree.Leaves() {
		book.Hold(leaf, of.Held(leaf))
		book.SetWant(leaf, of.Want(leaf))
	}
	for i := range tree.Nodes {
		book.SetLag(i, of.Lag(i))
	}
	return book
}

// recentReclaim is what one claimer was given lately.
type recentReclaim struct {
	Pool      string
	ClaimerID shares.ShareID
	Open      shares.Units // by orders that are open
	Freed     shares.Units // by orders that were closed within reclaimSettle
	Taken     shares.Units // that it was granted since the first of them
}

// foresee lets the orders that are open come true, and has claimers hold what came free for them and they have not
// taken.
func (st *reclaimPool) foresee(open []openReclaim, recent []recentReclaim) {
	tree := st.book.Tree()
	for _, o := range open {
		victim, ok1 := tree.ByID(o.VictimID)
		claimer, ok2 := tree.ByID(o.ClaimerID)
		if o.Pool == st.pool && ok1 && ok2 && tree.Leaf(victim) && tree.Leaf(claimer) {
			st.pass(victim, claimer, o.Units)
			st.over[o.ClaimerID] += o.Units
			st.kept.take(running{o.QueueID, o.VictimID, o.ShapeID, o.Cores})
		}
	}
	for _, c := range recent {
		leaf, ok := tree.ByID(c.ClaimerID)
		if left := c.Freed - c.Taken; c.Pool == st.pool && ok && tree.Leaf(leaf) && left > 0 {
			st.book.SetWant(leaf, st.book.Want(leaf)-left)
			st.book.Hold(leaf, left)
			st.over[c.ClaimerID] += left
		}
	}
}

// pass moves units from a victim, whose job is ready again, to a claimer.
func (st *reclaimPool) pass(victim, claimer int, u shares.Units) {
	st.book.Hold(victim, -u)
	st.book.SetWant(victim, st.book.Want(victim)+u)
	st.book.SetWant(claimer, st.book.Want(claimer)-u)
	st.book.Hold(claimer, u)
}

// hopeless says whether nobody could be taken from, whatever runs: then the leases need not be read. Each leaf is
// thought to have a job as large as the claimer's, which all that count for it are at least.
func (st *reclaimPool) hopeless(back shares.Ask) bool {
	var any []shares.Running
	for _, leaf := range st.book.Tree().Leaves() {
		if leaf != back.Leaf && st.book.Held(leaf) >= back.Job {
			any = append(any, shares.Running{ID: int64(leaf), Leaf: leaf, Units: back.Job})
		}
	}
	back.Units = back.Job
	return len(st.book.Victims(st.r, back, any, time.Now())) == 0
}
