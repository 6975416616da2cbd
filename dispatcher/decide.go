package dispatcher

import "github.com/divvyhq/divvy/shares"

// grant is one job on its way to a pull: out of its window, counted as held, not committed yet.
type grant struct {
	pull   *pull
	window *window
	job    readyJob
	queue  *queue
	share  string // path
	units  shares.Units
	nonce  int64
	of     *state
	lane   int         // that claims it
	spent  bool        // charged to this daemon's escrow of the present epoch
	note   *pickRecord // the record of the decision, where the sample has it
}

// move is the ledger's word for the grant, as far as this daemon counts it before the commit.
func (g *grant) move() move {
	return move{Task: g.job.task, Share: g.window.key.share, Shape: g.window.key.shape, Queue: g.queue.ID,
		Before: isReady, After: isLeased, N: 1, Units: g.units}
}

// undo is the opposite: the job was not ours, or the claim did not commit. Nothing is announced.
func (g *grant) undo() move {
	m := g.move()
	m.Before, m.After = isLeased, isReady
	return m
}

// outcome of a decision.
type decision int

const (
	none    decision = iota // no job that this slot may run; the pull waits for one
	given                   // at least one grant
	blocked                 // a window must be read or units taken first; needs says which
)

// needs is what a blocked decision waits for.
type needs struct {
	windows map[*window]bool
	limits  map[*limit]shares.Units
	lacked  string // kind of a hard limit that left out a window; empty: none did
	lane    int    // whose batch is being decided
}

func newNeeds(lane int) *needs {
	return &needs{lane: lane, windows: map[*window]bool{}, limits: map[*limit]shares.Units{}}
}

// candidates are the leaves with a job for a slot, in scratch space that every decision uses again.
type candidates struct {
	of     []shares.Candidate
	best   []choice // by position in of
	byLeaf []int    // leaf node → position in of + 1
	sample sampler  // which decisions are recorded
}

// choice is the best window of a leaf for a slot.
type choice struct {
	window *window
	exact  bool // the head is known to be the best
}

// decide gives the pull as many jobs as it may have. What it grants is counted as held at once.
func (s *state) decide(p *pull, n *needs) decision {
	q := s.byName[p.req.Queue]
	left := roomOf(p.req.Slot, q.Queue)
	for len(p.grants) < p.most {
		g, verdict := s.decideOne(p, q, left, n)
		if verdict != given {
			if verdict == none && len(p.grants) > 0 {
				return given
			}
			return verdict
		}
		p.grants = append(p.grants, g)
		left = left.without(g.window.shape.need)
	}
	return given
}

func (s *state) decideOne(p *pull, q *queue, left room, n *needs) (*grant, decision) {
	s.settle()
	if s.gather(p, q, left, n) {
		return nil, blocked
	}
	c := &s.scratch
	if len(c.of) == 0 {
		return nil, none
	}
	book := q.pool.book
	r := s.round(q.pool, left.offered(q.Queue, p.most-len(p.grants)))
	i, ok := book.Pick(r, c.of)
	if !ok {
		return nil, none
	}
	chosen := c.best[i]
	if !chosen.exact {
		for j, other := range c.best { // the next job of this pull would wait for them as well
			if !other.exact {
				s.unread(c.of[j].Leaf, q, p, left, n)
			}
		}
		return nil, blocked
	}
	g := &grant{pull: p, window: chosen.window, job: chosen.window.pop(), queue: q, units: c.of[i].Units,
		share: s.version.Tree.Nodes[chosen.window.leaf].Path, nonce: newNonce(), of: s, lane: n.lane, spent: true}
	g.note = s.note(book, r, q, g.job.id)
	s.apply(g.move(), true)
	s.inflight[g.job.id] = g
	book.Granted(c.of[i].Leaf)
	return g, given
}

// round is R of sharing.md §1 for a pull that offers these units.
func (s *state) round(p *pool, offered shares.Units) shares.Units {
	c := p.capacity
	if c != shares.Unlimited {
		c += p.heldOffline
	}
	return shares.Round(c, p.book.Held(0), offered)
}

// gather fills s.scratch with the leaves that have a job for this slot which every hard limit admits. It says
// whether a limit stood in the way that may yield when it is asked for more.
func (s *state) gather(p *pull, q *queue, left room, n *needs) (wait bool) {
	c := &s.scratch
	for _, cand := range c.of {
		c.byLeaf[cand.Leaf] = 0
	}
	c.of, c.best = c.of[:0], c.best[:0]
	if len(c.byLeaf) < len(s.leaves) {
		c.byLeaf = make([]int, len(s.leaves))
	}
	for _, w := range s.windowsFor(p, q) {
		if w.ready <= 0 && len(w.jobs) == 0 || !left.fits(w.shape.need) {
			continue
		}
		exact := w.exact()
		if len(w.jobs) == 0 && exact {
			continue // counted as ready, but in other hands
		}
		units := shares.Units(int64(w.shape.need.Cores) * q.CorePowerMilli)
		if l, short := s.lacking(q, w, units); l != nil {
			n.lacked = l.key.Kind
			if !l.dry {
				n.limits[l] = max(n.limits[l], short)
				wait = true
			}
			continue
		}
		c.add(w, exact, units, q.Prefer == "wide")
	}
	return wait
}

// windowsFor lists the windows whose jobs may run at the queue; with labels of its own a slot may fit more shapes.
func (s *state) windowsFor(p *pull, q *queue) []*window {
	if len(p.req.Slot.Labels) == 0 {
		return q.windows
	}
	var fit []*window
	for _, w := range s.windows {
		if w.leaf >= 0 && fitsQueue(w.shape.need, q.Queue, p.labels(q)) == "" {
			fit = append(fit, w)
		}
	}
	return fit
}

// add keeps the better of two windows of a leaf: the earlier head, or the wider shape where the queue prefers it.
func (c *candidates) add(w *window, exact bool, units shares.Units, wide bool) {
	at := c.byLeaf[w.leaf]
	if at == 0 {
		c.of = append(c.of, shares.Candidate{Leaf: w.leaf, Units: units})
		c.best = append(c.best, choice{w, exact})
		c.byLeaf[w.leaf] = len(c.of)
		return
	}
	best := &c.best[at-1]
	switch narrow := w.shape.need.Cores - best.window.shape.need.Cores; {
	case wide && narrow < 0:
		return
	case wide && narrow > 0:
	case len(w.jobs) == 0 || len(best.window.jobs) == 0:
		// One of the two is not read yet: the leaf's best job is unknown until it is.
		best.exact = false
		return
	case !w.jobs[0].before(best.window.jobs[0].stand):
		best.exact = best.exact && exact
		return
	default:
		exact = exact && best.exact
	}
	*best = choice{w, exact}
	c.of[at-1].Units = units
}

// unread notes every window of the leaf that must be read before its best job is known.
func (s *state) unread(node int, q *queue, p *pull, left room, n *needs) {
	for _, w := range s.windowsFor(p, q) {
		if w.leaf != node || w.ready <= 0 && len(w.jobs) == 0 || !left.fits(w.shape.need) {
			continue
		}
		if !w.exact() {
			n.windows[w] = true
		}
	}
}

// lacking is the first hard limit that this daemon has not enough escrow for, and by how much; nil when all admit.
func (s *state) lacking(q *queue, w *window, units shares.Units) (l *limit, need shares.Units) {
	cores := shares.Units(w.shape.need.Cores) * 1000
	if l := q.limit; l != nil && l.balance() < cores {
		return l, cores
	}
	if l := q.pool.limit; l != nil && l.balance() < units {
		return l, units
	}
	for _, l := range q.pool.pathLimits[w.leaf] {
		if l.balance() < units {
			return l, units
		}
	}
	return nil, 0
}
