package dispatcher

import (
	"encoding/binary"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// contenders are the leaves with a job for one kind of slot: one that may run certain shapes at a certain power, in
// one pool. They are kept up to date as windows open and close, so that a decision costs the walk down the tree and
// not a look at every window. Guarded by Dispatcher.mu.
type contenders struct {
	of      *state
	among   *narrow // whose jobs these are alone; nil: all
	at      *queue  // that it is for alone, since that has target slots; nil: for all that are alike
	pool    *pool
	power   shares.Units // thousandths a core
	shapes  bits         // by shape.at
	leaves  shares.Contenders
	kind    int64            // its number in the diary
	told    int              // chapter of the diary that knows of it
	changed []int            // leaves of which it does not know yet
	barred  map[int]*limit   // leaves whose jobs a dry limit of their path keeps back
	refused map[int]obstacle // leaves whose jobs lending and borrowing keep back
	eased   uint64           // pool.eased when they were last asked for
}

// mostContenders bounds the sets that are kept. A site has as many as it has kinds of slots; pulls that state odd
// figures could make any number.
const mostContenders = 1024

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 == 1 }

func (b bits) key(to []byte) []byte {
	for _, word := range b {
		to = binary.LittleEndian.AppendUint64(to, word)
	}
	return to
}

// contendersFor is the set for a slot: the shapes that may run there, have room, and that queue and pool admit. It
// says whether one of these two limits stood in the way that may yield when it is asked for more.
func (s *state) contendersFor(p *pull, q *queue, left room, n *needs) (c *contenders, wait bool) {
	in := s.scratch.shapes[:0]
	for range (len(s.byAt) + 63) / 64 {
		in = append(in, 0)
	}
	for _, sh := range s.shapesFor(p, q) {
		if !left.fits(sh.need) {
			continue
		}
		if l, short := q.lacking(sh); l != nil {
			if sh.nOpen > 0 || p.among != nil {
				n.lacked = l.key.Kind
				if l.mayGive(short) {
					n.limits[l] = max(n.limits[l], short)
					wait = true
				}
			}
			continue
		}
		in[sh.at>>6] |= 1 << (sh.at & 63)
	}
	s.scratch.shapes = in
	key := append(s.scratch.key[:0], q.pool.name...)
	key = binary.LittleEndian.AppendUint64(append(key, 0), uint64(q.CorePowerMilli))
	key = in.key(key)
	if len(q.targets) > 0 {
		key = binary.LittleEndian.AppendUint32(key, uint32(q.ID))
	}
	s.scratch.key = key
	if p.among != nil {
		return p.among.contendersFor(s, q, in, string(key)), wait
	}
	if c = s.contenders[string(key)]; c == nil {
		c = s.newContenders(q, in, string(key))
	}
	return c, wait
}

// shapesFor lists the shapes that may run at the queue and that the pull takes; with labels of its own a slot may fit more.
func (s *state) shapesFor(p *pull, q *queue) []*shape {
	fit := q.shapes
	if len(p.req.Slot.Labels) > 0 {
		fit = nil
		labels := p.labels(q)
		for _, sh := range s.byAt {
			if fitsQueue(sh.need, q.Queue, labels) == "" {
				fit = append(fit, sh)
			}
		}
	}
	return p.req.Only.among(fit)
}

// lacking is the limit of queue or pool that this daemon has not enough escrow under for a job of the shape, and
// how much that takes; nil when both admit it.
func (q *queue) lacking(sh *shape) (l *limit, need shares.Units) {
	cores := shares.Units(sh.need.Cores) * 1000
	if l := q.limit; l != nil && l.balance() < cores {
		return l, cores
	}
	units := shares.Units(int64(sh.need.Cores) * q.CorePowerMilli)
	if l := q.pool.limit; l != nil && l.balance() < units {
		return l, units
	}
	return nil, 0
}

func (s *state) newContenders(q *queue, in bits, key string) *contenders {
	if len(s.contenders) >= mostContenders {
		s.forgetContenders()
	}
	c := s.noContenders(q, in)
	s.contenders[key] = c
	for _, sh := range s.byAt {
		if !c.shapes.has(sh.at) {
			continue
		}
		for _, w := range sh.windows {
			if w.opened {
				c.contend(w.leaf, true)
			}
		}
	}
	return c
}

// noContenders is a set that nobody is in yet.
func (s *state) noContenders(q *queue, in bits) *contenders {
	s.nKinds++
	c := &contenders{of: s, kind: s.nKinds, pool: q.pool, power: shares.Units(q.CorePowerMilli), shapes: append(bits(nil), in...),
		barred: map[int]*limit{}, refused: map[int]obstacle{}, eased: q.pool.eased}
	if len(q.targets) > 0 {
		c.at = q
	}
	return c
}

func (s *state) forgetContenders() {
	s.narrows = newNarrows() // they have some of their own
	s.contenders = map[string]*contenders{}
	for _, l := range s.limits {
		l.bars = nil
	}
}

// review finds out anew whether a leaf contends.
func (c *contenders) review(leaf int) {
	is := false
	if _, refused := c.refused[leaf]; !refused && c.barred[leaf] == nil {
		for _, w := range c.windows(leaf) {
			if (w.opened || w.private && w.open()) && c.shapes.has(w.shape.at) {
				is = true
				break
			}
		}
	}
	c.contend(leaf, is)
}

// bar is a leaf that a limit keeps out of a set.
type bar struct {
	set  *contenders
	leaf int
}

// ease lets leaves contend again that the limit kept out: it has more to spend, or can be asked again.
func (l *limit) ease() {
	for _, b := range l.bars {
		if b.set.barred[b.leaf] != nil {
			b.set.admit(b.leaf)
		}
	}
	l.bars = l.bars[:0]
}

// unbar forgets the limit that keeps a leaf out.
func (c *contenders) unbar(leaf int) {
	if l := c.barred[leaf]; l != nil {
		delete(c.barred, leaf)
		l.bars = slices.DeleteFunc(l.bars, func(b bar) bool { return b == bar{c, leaf} })
	}
}

// check notes whether a window has something to give, after anything about it has changed.
func (s *state) check(w *window) {
	is := w.leaf >= 0 && w.open()
	if is == w.opened {
		return
	}
	w.opened = is
	if is {
		w.shape.nOpen++
	} else {
		w.shape.nOpen--
	}
	if w.leaf < 0 {
		return
	}
	s.countOpen(w.leaf, is)
	for _, c := range s.contenders {
		if c.shapes.has(w.shape.at) {
			c.unbar(w.leaf) // it may be a smaller job, or one of another class
			delete(c.refused, w.leaf)
			c.review(w.leaf)
		}
	}
}

// recheck is for a leaf that contends and turns out to have nothing.
func (s *state) recheck(leaf int, of *contenders) {
	for _, w := range of.windows(leaf) {
		if !w.private {
			s.check(w)
		}
	}
	of.review(leaf)
}

// windows are those of a leaf that a job of the set can come from.
func (c *contenders) windows(leaf int) []*window {
	if c.among != nil {
		return c.among.leaves[leaf]
	}
	return c.of.leaves[leaf].windows
}

// choice is the best window of a leaf for a slot.
type choice struct {
	window *window
	exact  bool // its head is known to be the best
	units  shares.Units
	floor  bool // the leaf is due by one
}

// best is the window that the leaf gives a job from: the earliest head, or the widest shape where the queue prefers
// it, of those that the limits of the path, lending and borrowing admit. When none is left, in is what stands in the
// way, or nothing if the leaf has no job after all. A leaf that is due by a floor gives a job of its class.
func (c *contenders) best(of due, wide bool, n *needs) (found choice, in obstacle) {
	leaf, class := of.leaf, of.class()
	for _, w := range c.windows(leaf) {
		if !c.shapes.has(w.shape.at) || !w.open() || class != "" && w.shape.class != class {
			continue
		}
		units := shares.Units(w.shape.need.Cores) * c.power
		if l, short := c.lacking(leaf, w.shape); l != nil {
			n.lacked = l.key.Kind
			if l.mayGive(short) {
				n.limits[l] = max(n.limits[l], short)
			}
			in.meet(l, n.limits[l] > 0)
			continue
		}
		if c.pool.lends && !c.lent(leaf, units, &in) {
			n.lacked = in.kind()
			continue
		}
		found.meet(choice{w, w.exact(), units, of.floor != nil}, wide)
	}
	return found, in
}

// lacking is the first limit up the path, or of the queue's target slots, that this daemon has not enough escrow under
// for a job of the shape, and how much that takes; nil when all admit.
func (c *contenders) lacking(leaf int, sh *shape) (l *limit, need shares.Units) {
	units := shares.Units(sh.need.Cores) * c.power
	for _, l := range c.pool.pathLimits[leaf] {
		if l.balance() < units {
			return l, units
		}
	}
	if c.at == nil {
		return nil, 0
	}
	tree, cores := c.of.version.Tree, shares.Units(sh.need.Cores)*1000
	for _, t := range c.at.targets {
		if t.limit.balance() < cores && t.covers(tree, tree.Nodes[leaf].ID, sh.class) {
			return t.limit, cores
		}
	}
	return nil, 0
}

// meet keeps the better of two windows of a leaf.
func (b *choice) meet(other choice, wide bool) {
	if b.window == nil {
		*b = other
		return
	}
	exact := b.exact && other.exact
	switch narrow := other.window.shape.need.Cores - b.window.shape.need.Cores; {
	case wide && narrow < 0:
		return
	case wide && narrow > 0:
		*b = other
		return
	case len(other.window.jobs) == 0 || len(b.window.jobs) == 0:
		exact = false // one of the two is not read yet: the leaf's best job is unknown until it is
	case other.window.jobs[0].before(b.window.jobs[0].stand):
		*b = other
	}
	b.exact = exact
}

// unread notes every window with an unknown head that may be asked soon: the pulls to come would wait for them too.
func (c *contenders) unread(n *needs) {
	if c.among != nil {
		c.among.short = true
		n.narrow(c.among)
		return
	}
	for _, sh := range c.of.byAt {
		if !c.shapes.has(sh.at) {
			continue
		}
		for _, w := range sh.windows {
			if w.opened && !w.exact() {
				n.windows[w] = true
			}
		}
	}
}
