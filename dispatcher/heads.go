package dispatcher

// heads are the windows of a group whose shapes ask for resources, as one queue sees them or all do: in lots that ask for
// the same, and in the order of what each would give first. A decision looks at the first. A lot whose units are used up
// goes out as a whole, a window whose sharing ID has what is its part goes aside alone; both cost nothing from then on,
// until that resource eases. Guarded by Dispatcher.mu.
type heads struct {
	group *group
	queue *queue // that it is for alone; nil: for all
	lots  map[string]*lot
	in    byStand[*lot]
}

// lot is the windows of heads that ask for the same units of the same resources.
type lot struct {
	heads *heads
	asks  []resourceAsk
	in    byStand[*window]
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
			l.in.set(w, w.begin())
		} else {
			l.in.drop(w)
		}
		s.placeLot(l)
	}
}

// makeHeads makes those that sets of contenders look at and that are not there yet: once for all sets that there are, but for
// outlines of a node, which sets run now and then only.
func (s *state) makeHeads(g *group) {
	if g.kinds == s.nKinds && (g.outline.at >= 0 || len(g.heads) > 0 && !s.supplies.byQueue) {
		return
	}
	g.kinds = s.nKinds
	for _, c := range s.contenders {
		if q := c.headsOf(); c.runs(g.outline) && g.heads[q] == nil {
			s.offered(s.headsAt(g, q))
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
		if c.runs(h.group.outline) && c.headsOf() == h.queue {
			c.unbar(h.group.leaf)
			delete(c.refused, h.group.leaf)
			c.review(h.group.leaf)
		}
	}
}

// headsAt are the heads of a group for a queue (nil: for all), or nil if it has no window that asks for resources.
func (s *state) headsAt(g *group, q *queue) *heads {
	if h := g.heads[q]; h != nil {
		return h
	}
	if len(g.outline.shapes) == 0 {
		return nil
	}
	h := &heads{group: g, queue: q, lots: map[string]*lot{}}
	if g.heads == nil {
		g.heads = map[*queue]*heads{}
	}
	g.heads[q] = h
	for _, w := range g.outline.windows {
		if w.group == g && w.opened && w.shape.asks != nil {
			l := h.lot(w.shape)
			l.in.set(w, w.begin())
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

// byStand is a heap of things by the stand that each begins at. The zero one is empty.
type byStand[T comparable] struct {
	list []standing[T]
	at   map[T]int
}

type standing[T comparable] struct {
	what  T
	stand stand
}

func (b *byStand[T]) any() bool { return len(b.list) > 0 }

// first is where the first begins; ok is false when there is none.
func (b *byStand[T]) first() (at stand, ok bool) {
	if len(b.list) == 0 {
		return stand{}, false
	}
	return b.list[0].stand, true
}

// set adds a thing, or moves it.
func (b *byStand[T]) set(what T, at stand) {
	i, there := b.at[what]
	if !there {
		if b.at == nil {
			b.at = map[T]int{}
		}
		i = len(b.list)
		b.list = append(b.list, standing[T]{what: what})
		b.at[what] = i
	}
	b.list[i].stand = at
	b.down(b.up(i))
}

// drop takes a thing out, if it is there.
func (b *byStand[T]) drop(what T) {
	i, there := b.at[what]
	if !there {
		return
	}
	last := len(b.list) - 1
	b.swap(i, last)
	b.list[last] = standing[T]{}
	b.list = b.list[:last]
	delete(b.at, what)
	if i < last {
		b.down(b.up(i))
	}
}

func (b *byStand[T]) swap(i, j int) {
	if i != j {
		b.list[i], b.list[j] = b.list[j], b.list[i]
		b.at[b.list[i].what], b.at[b.list[j].what] = i, j
	}
}

func (b *byStand[T]) up(i int) int {
	for i > 0 && b.list[i].stand.before(b.list[(i-1)/2].stand) {
		b.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (b *byStand[T]) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(b.list) {
			return
		}
		if c+1 < len(b.list) && b.list[c+1].stand.before(b.list[c].stand) {
			c++
		}
		if !b.list[c].stand.before(b.list[i].stand) {
			return
		}
		b.swap(i, c)
		i = c
	}
}
