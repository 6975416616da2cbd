package dispatcher

// heads are the windows of a group whose shapes ask for resources or name users, as one queue sees them or all do: in lots that
// ask for the same, and in the order of what each would give first. A decision looks at the first. A lot whose units are used
// up goes out as a whole, a window whose sharing ID has what is its part goes aside alone; both cost nothing from then on,
// until that resource eases. Guarded by Dispatcher.mu.
type heads struct {
	group *group
	headsKey
	lots map[string]*lot
	in   inTurns[*lot]
}

// headsKey is for which decisions heads are.
type headsKey struct {
	queue *queue // at that queue alone, where resources are per queue; nil: at all
	pool  *pool  // in that pool alone, where the leaf gives turns to users; nil: in all
}

// lot is the windows of heads that ask for the same units of the same resources.
type lot struct {
	heads *heads
	asks  []resourceAsk
	in    inTurns[*window]
	aside map[*window]asideFor
	out   *supply  // that has no units for any of them; nil: it is in
	since []uint64 // grants of what it asks for when it went out
}

// asideFor is what a window that is aside waits for.
type asideFor struct {
	by  *supply
	key waiterKey
}

// rank brings the place of a window among the heads up to date. Where resources are per queue there are heads for every queue
// at which pilots ask: a grant costs O(queues), so that many hundreds of them are better served by resources for all.
func (s *state) rank(w *window) {
	s.makeHeads(w.group)
	for _, h := range w.group.heads {
		l := h.lot(w.shape)
		if for_, is := l.aside[w]; is {
			if !w.opened {
				for_.by.release(for_.key, asidePlace{l, w})
				delete(l.aside, w)
			}
			continue
		}
		if w.opened {
			l.in.set(w, h.turn(w))
		} else {
			l.in.drop(w)
		}
		s.placeLot(l)
	}
}

// makeHeads makes those that sets of contenders look at and that are not there yet: once for all sets that there are, but for
// outlines of a node, which sets run now and then only.
func (s *state) makeHeads(g *group) {
	oneForAll := !s.supplies.byQueue && s.leaves[g.leaf].users == nil
	if g.kinds == s.nKinds && (g.outline.at >= 0 || len(g.heads) > 0 && oneForAll) {
		return
	}
	g.kinds = s.nKinds
	for _, c := range s.contenders {
		if key := c.headsOf(g); c.runs(g.outline) && g.heads[key] == nil {
			s.offered(s.headsAt(g, key))
		}
	}
}

// lot finds or makes the one for a shape.
func (h *heads) lot(sh *shape) *lot {
	l := h.lots[sh.lot]
	if l == nil {
		l = &lot{heads: h, asks: sh.asks, aside: map[*window]asideFor{}}
		h.lots[sh.lot] = l
	}
	return l
}

// placeLot puts a lot at its place among the others: that of its first window. When the first lot of all comes in, or the
// last goes, the sets for which they are follow.
func (s *state) placeLot(l *lot) {
	h := l.heads
	had := h.in.any()
	if first, ok := l.in.first(); ok && l.out == nil {
		h.in.set(l, first)
	} else {
		h.in.drop(l)
	}
	if had != h.in.any() {
		s.offered(h)
	}
}

// offered has the sets reviewed for which heads are: these have something to give from now on, or nothing any more.
func (s *state) offered(h *heads) {
	for _, c := range s.contenders {
		if c.runs(h.group.outline) && c.headsOf(h.group) == h.headsKey {
			c.unbar(h.group.leaf)
			delete(c.refused, h.group.leaf)
			c.review(h.group.leaf)
		}
	}
}

// turn is the place of a window among the heads.
func (h *heads) turn(w *window) userTurn {
	if h.pool == nil {
		return userTurn{stand: w.begin()}
	}
	return w.turn(h.pool, w.begin())
}

// headsOf says which heads of a group the set looks at.
func (c *contenders) headsOf(g *group) (key headsKey) {
	if c.of.hasOwn(c.at) {
		key.queue = c.at
	}
	if c.of.leaves[g.leaf].users != nil {
		key.pool = c.pool
	}
	return key
}

// headsAt are heads of a group, or nil if it has no window that could be among them.
func (s *state) headsAt(g *group, key headsKey) *heads {
	if len(g.outline.shapes) == 0 {
		return nil
	}
	if h := g.heads[key]; h != nil {
		return h
	}
	h := &heads{group: g, headsKey: key, lots: map[string]*lot{}}
	if g.heads == nil {
		g.heads = map[headsKey]*heads{}
	}
	g.heads[key] = h
	for _, w := range g.outline.windows {
		if w.group == g && w.opened && w.shape.headed {
			l := h.lot(w.shape)
			l.in.set(w, h.turn(w))
			first, _ := l.in.first()
			h.in.set(l, first)
		}
	}
	return h
}

// keptBack is what keeps windows of the heads back; empty if none is.
func (h *heads) keptBack() string {
	for _, l := range h.lots {
		if l.out != nil && l.in.any() {
			return l.out.why
		}
		for _, by := range l.aside {
			return by.by.why
		}
	}
	return ""
}

// begin is a stand that no job of the window comes before, read or not.
func (w *window) begin() stand {
	if w.unsure() {
		return stand{place: minPlace}
	}
	first := w.cursor
	if len(w.jobs) > 0 {
		first = w.jobs[0].stand
	}
	for _, unread := range [2][]span{w.behind, w.reading} {
		for _, b := range unread {
			if s := (stand{b.place, b.low}); s.before(first) {
				first = s
			}
		}
	}
	return first
}
