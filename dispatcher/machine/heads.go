package machine

import (
	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// heads are the buffers of a group whose shapes ask for resources or name users, as one queue sees them or all do: in lots that
// ask for the same, and in the order of what each would give first. A decision looks at the first. A lot whose units are used
// up goes out as a whole, a buffer whose sharing ID has what is its part is parked alone; both cost nothing from then on,
// until that resource eases.
type heads struct {
	kinds *kinds
	group *group
	headsKey
	lots map[string]*lot
	in   ready.Turns[*lot]
}

// headsKey is for which decisions heads are.
type headsKey struct {
	queue *books.Queue // at that queue alone, where resources are per queue; nil: at all
	pool  *books.Pool  // in that pool alone, where the leaf gives turns to users; nil: in all
}

// lot is the buffers of heads that ask for the same units of the same resources.
type lot struct {
	heads  *heads
	asks   []gate.Ask
	in     ready.Turns[*buffer]
	parked map[*buffer]parkedAt
	out    *gate.Supply // that has no units for any of them; nil: it is in
	since  []uint64     // grants of what it asks for when it went out
}

// parkedAt is what a parked buffer waits for.
type parkedAt struct {
	by  *gate.Supply
	key gate.WaiterKey
}

// rank brings the place of a buffer among the heads up to date. Where resources are per queue there are heads for every queue
// at which pilots pull: a grant costs O(queues), so that many hundreds of them are better served by resources for all.
func (k *kinds) rank(b *buffer) {
	k.makeHeads(b.group)
	for _, h := range b.group.heads {
		l := h.lot(b.shape)
		if at, is := l.parked[b]; is {
			if !b.opened {
				at.by.Release(at.key, parkedPlace{l, b})
				delete(l.parked, b)
			}
			continue
		}
		if b.opened {
			l.in.Set(b, h.turn(b))
		} else {
			l.in.Drop(b)
		}
		k.placeLot(l)
	}
}

// makeHeads makes those that kinds of slots look at and that are not there yet.
func (k *kinds) makeHeads(g *group) {
	s := k.state
	oneForAll := !s.supplies.byQueue && s.leaves[g.leaf].users == nil
	if g.kinds == k.made && len(g.heads) > 0 || oneForAll && len(g.heads) > 0 {
		return
	}
	g.kinds = k.made
	for _, c := range k.all {
		if key := c.headsOf(g); c.runs(g.outline) && g.heads[key] == nil {
			k.offeredBy(k.headsAt(g, key))
		}
	}
}

// lot finds or makes the one for a shape.
func (h *heads) lot(sh *shape) *lot {
	l := h.lots[sh.lot]
	if l == nil {
		l = &lot{heads: h, asks: sh.asks, parked: map[*buffer]parkedAt{}}
		h.lots[sh.lot] = l
	}
	return l
}

// placeLot puts a lot at its place among the others: that of its first buffer. When the first lot of all comes in, or the
// last goes, the kinds of slots for which they are follow.
func (k *kinds) placeLot(l *lot) {
	h := l.heads
	had := h.in.Any()
	if first, ok := l.in.First(); ok && l.out == nil {
		h.in.Set(l, first)
	} else {
		h.in.Drop(l)
	}
	if had != h.in.Any() {
		k.offeredBy(h)
	}
}

// offeredBy has the kinds reviewed for which heads are: these have something to give from now on, or nothing any more.
func (k *kinds) offeredBy(h *heads) {
	for _, c := range k.all {
		if c.runs(h.group.outline) && c.headsOf(h.group) == h.headsKey {
			c.admit(h.group.leaf)
		}
	}
}

// turn is the place of a buffer among the heads.
func (h *heads) turn(b *buffer) ready.Turn {
	if h.pool == nil {
		return ready.Turn{Stand: b.first()}
	}
	return b.turn(h.pool, b.first())
}

// headsOf says which heads of a group the kind looks at.
func (c *kind) headsOf(g *group) (key headsKey) {
	if c.state.supplies.hasOwn(c.at) {
		key.queue = c.at
	}
	if c.state.leaves[g.leaf].users != nil {
		key.pool = c.pool
	}
	return key
}

// headsAt are heads of a group, or nil if it has no buffer that could be among them.
func (k *kinds) headsAt(g *group, key headsKey) *heads {
	if len(g.outline.shapes) == 0 {
		return nil
	}
	if h := g.heads[key]; h != nil {
		return h
	}
	h := &heads{kinds: k, group: g, headsKey: key, lots: map[string]*lot{}}
	if g.heads == nil {
		g.heads = map[headsKey]*heads{}
	}
	g.heads[key] = h
	for _, b := range g.outline.buffers {
		if b.group == g && b.opened && b.shape.headed {
			l := h.lot(b.shape)
			l.in.Set(b, h.turn(b))
			first, _ := l.in.First()
			h.in.Set(l, first)
		}
	}
	return h
}

// keptBack is what keeps buffers of the heads back; zero if nothing does.
func (h *heads) keptBack() (first Refusal) {
	for _, l := range h.lots {
		if l.out != nil && l.in.Any() {
			return l.out.Why
		}
		for _, at := range l.parked {
			first = at.by.Why
		}
	}
	return first
}
