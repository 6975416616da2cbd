package dispatcher

import (
	"cmp"
	"encoding/binary"
	"iter"
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
	shapes  bits         // by outline.at
	near    []*outline   // those of the slot's node beside them, for the present decision
	leaves  shares.Contenders
	kind    int64            // its number in the diary
	told    int              // chapter of the diary that knows of it
	changed []int            // leaves of which it does not know yet
	barred  map[int]*limit   // leaves whose jobs a dry limit of their path keeps back
	refused map[int]obstacle // leaves whose jobs lending and borrowing keep back
	starved map[int]string   // leaves whose jobs resources keep back, and the gate
	eased   uint64           // pool.eased when they were last asked for
}

// mostContenders bounds the sets that are kept, or twice the number of queues: where each has resources or target slots of its
// own it needs a set. A site has as many as it has kinds of slots; pulls that state odd figures could make any number.
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
	if s.claims.shapes > 0 {
		s.claims.asking = s.claims.offer(p)
	}
	near := s.scratch.near[:0]
	for _, sh := range s.outlinesFor(p, q) {
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
		if sh.at < 0 {
			near = append(near, sh)
			continue
		}
		in[sh.at>>6] |= 1 << (sh.at & 63)
	}
	s.scratch.shapes, s.scratch.near = in, near
	key := append(s.scratch.key[:0], q.pool.name...)
	key = binary.LittleEndian.AppendUint64(append(key, 0), uint64(q.CorePowerMilli))
	key = in.key(key)
	if s.apart(q) {
		key = binary.LittleEndian.AppendUint32(key, uint32(q.ID))
	}
	s.scratch.key = key
	if p.among != nil {
		return p.among.contendersFor(s, q, kindOfSlot{in, near, string(key)}), wait
	}
	if c = s.contenders[string(key)]; c == nil {
		c = s.newContenders(q, in, string(key))
	}
	c.enter(near)
	return c, wait
}

// enter adds, for one decision, jobs that the slot's node alone can run since their claims are bound there. So slots of
// nodes that are alike have one set, however many nodes claims are bound at.
func (c *contenders) enter(near []*outline) {
	if len(near) == 0 {
		return
	}
	c.near = slices.Clone(near)
	for _, o := range near {
		for _, w := range o.windows {
			if w.opened { // whatever keeps other jobs of its leaf back
				c.contend(w.leaf, true)
			}
		}
	}
}

// runs says whether slots of the kind can run jobs of an outline.
func (c *contenders) runs(o *outline) bool {
	if o.at < 0 {
		return slices.Contains(c.near, o)
	}
	return c.shapes.has(o.at)
}

// leave undoes enter.
func (c *contenders) leave() {
	near := c.near
	c.near = nil
	for _, o := range near {
		for _, w := range o.windows {
			if w.leaf >= 0 {
				c.review(w.leaf)
			}
		}
	}
}

// outlines are those that slots of the kind can run.
func (c *contenders) outlines() iter.Seq[*outline] {
	return func(yield func(*outline) bool) {
		for _, o := range c.of.byAt {
			if c.shapes.has(o.at) && !yield(o) {
				return
			}
		}
		for _, o := range c.near {
			if !yield(o) {
				return
			}
		}
	}
}

// kindOfSlot is which shapes a slot can run: those of all slots that are alike, and those of its node.
type kindOfSlot struct {
	shapes bits
	near   []*outline
	key    string
}

// outlinesFor lists those that may run at the queue and that the pull takes; with labels of its own a slot may fit more.
func (s *state) outlinesFor(p *pull, q *queue) []*outline {
	fit, fits := q.outlines, func(o *outline) bool { return o.queues[q.pos] }
	if len(p.req.Slot.Labels) > 0 {
		fit = nil
		labels := p.labels(q)
		fits = func(o *outline) bool { return fitsQueue(o.need, q.Queue, labels) == "" }
		for _, sh := range s.byAt {
			if !sh.need.Claims.bound() && fits(sh) {
				fit = append(fit, sh)
			}
		}
	}
	return p.req.Only.among(s.claims.among(fit, p.among != nil, fits))
}

// lacking is the limit of queue or pool that this daemon has not enough escrow under for a job of the outline, and
// how much that takes; nil when both admit it.
func (q *queue) lacking(sh *outline) (l *limit, need shares.Units) {
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
	if len(s.contenders) >= max(mostContenders, 2*len(s.queues)) {
		s.forgetContenders()
	}
	c := s.noContenders(q, in)
	s.contenders[key] = c
	for _, sh := range s.byAt {
		if !c.runs(sh) || sh.nOpen == 0 {
			continue
		}
		for _, leaf := range s.version.Tree.Leaves() {
			c.review(leaf)
		}
		break
	}
	return c
}

// noContenders is a set that nobody is in yet.
func (s *state) noContenders(q *queue, in bits) *contenders {
	s.nKinds++
	c := &contenders{of: s, kind: s.nKinds, pool: q.pool, power: shares.Units(q.CorePowerMilli), shapes: append(bits(nil), in...),
		barred: map[int]*limit{}, refused: map[int]obstacle{}, starved: map[int]string{}, eased: q.pool.eased}
	if s.apart(q) {
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
	delete(c.starved, leaf)
	if _, refused := c.refused[leaf]; !refused && c.barred[leaf] == nil {
		is = c.offers(leaf)
	}
	c.contend(leaf, is)
}

// offers says whether a window of a leaf has something to give that resources do not keep back, as far as is known.
func (c *contenders) offers(leaf int) bool {
	if c.among != nil {
		return slices.ContainsFunc(c.windows(leaf), func(w *window) bool { return c.runs(w.shape.outline) && w.open() })
	}
	starved := ""
	for _, g := range c.groups(leaf) {
		if !c.runs(g.outline) {
			continue
		}
		if c.has(g) {
			return true
		}
		if h := c.of.headsAt(g, c.headsOf()); h != nil {
			starved = cmp.Or(starved, h.keptBack())
		}
	}
	if starved != "" {
		c.starved[leaf] = starved
	}
	return false
}

// has is offers for the windows of a group.
func (c *contenders) has(g *group) bool {
	if g.plain != nil && g.plain.opened {
		return true
	}
	h := c.of.headsAt(g, c.headsOf())
	return h != nil && h.in.any()
}

// apart says whether slots of a queue have contenders of their own: what its limits admit is another thing than elsewhere.
func (s *state) apart(q *queue) bool { return len(q.targets) > 0 || s.supplies.byQueue }

// headsOf is the queue whose heads the set looks at; nil: those that are for all.
func (c *contenders) headsOf() *queue {
	if c.of.supplies.byQueue {
		return c.at
	}
	return nil
}

// bar is a leaf that a limit keeps out of a set.
type bar struct {
	set  *contenders
	leaf int
}

// ease lets leaves contend again that the limit kept out: it has more to spend, or can be asked again.
func (l *limit) ease() {
	if l.supply != nil {
		l.supply.ease()
	}
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
	was := w.opened
	if w.opened = is; is != was {
		s.countWindow(w)
	}
	switch {
	case w.shape.need.Claims.gang():
		s.gangs.follow(w)
		return
	case w.leaf < 0:
		return
	case w.shape.asks != nil:
		s.rank(w)
		return
	case is == was:
		return
	}
	for _, c := range s.contenders {
		if c.runs(w.shape.outline) {
			c.unbar(w.leaf) // it may be a smaller job, or one of another class
			delete(c.refused, w.leaf)
			c.review(w.leaf)
		}
	}
}

// countWindow counts a window that has just opened or closed.
func (s *state) countWindow(w *window) {
	if w.opened {
		w.shape.nOpen++
	} else {
		w.shape.nOpen--
		s.releaseBundles(w)
	}
	if w.leaf >= 0 {
		s.countOpen(w.leaf, w.opened)
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

	job  *readyJob // of a gang; nil: the window's first
	gang bool
}

// best is the window that the leaf gives a job from: the earliest head, or the widest shape where the queue prefers
// it, of those that the limits of the path, lending and borrowing and resources admit. When none is left, in is what stands
// in the way, or nothing if the leaf has no job after all. A leaf that is due by a floor gives a job of its class.
func (c *contenders) best(of due, q *queue, n *needs) (found choice, in obstacle) {
	if c.among != nil {
		return c.bestAmong(of, q, n)
	}
	for _, g := range c.groups(of.leaf) {
		if !c.runs(g.outline) || !of.takes(g.outline) {
			continue
		}
		if g.plain != nil {
			c.of.sift(g.plain)
		}
		plain, h := g.plain != nil && g.plain.open(), c.of.headsAt(g, c.headsOf())
		if !plain && (h == nil || !h.in.any()) {
			if h != nil {
				in.scarce = cmp.Or(in.scarce, h.keptBack())
			}
			continue
		}
		units := shares.Units(g.outline.need.Cores) * c.power
		if !c.admitted(of.leaf, g.outline, n, &in) {
			continue
		}
		if plain {
			found.meet(choice{window: g.plain, exact: g.plain.exact(), units: units, floor: of.floor != nil}, q.Prefer == "wide")
		}
		if h != nil {
			if w := c.first(h, q, n, &in); w != nil {
				found.meet(choice{window: w, exact: w.exact(), units: units, floor: of.floor != nil}, q.Prefer == "wide")
			}
		}
	}
	if in.scarce != "" {
		n.lacked = in.scarce
	}
	return found, in
}

// bestAmong is best of the few windows of a narrow.
func (c *contenders) bestAmong(of due, q *queue, n *needs) (found choice, in obstacle) {
	for _, w := range c.windows(of.leaf) {
		c.of.sift(w)
		o := w.shape.outline
		if !c.runs(o) || !of.takes(o) || !w.open() || !c.admitted(of.leaf, o, n, &in) {
			continue
		}
		if no := c.of.short(w, q); no.stands() {
			if l := no.limit; l != nil && l.mayGive(no.need()) {
				n.limits[l] = max(n.limits[l], no.need())
				in.meet(l, true)
				continue
			}
			in.scarce = no.by.why
			n.lacked = in.scarce
			continue
		}
		found.meet(choice{window: w, exact: w.exact(), units: shares.Units(o.need.Cores) * c.power, floor: of.floor != nil}, q.Prefer == "wide")
	}
	return found, in
}

// admitted says whether the limits of the path, target slots, lending and borrowing admit jobs of an outline; if not, the
// obstacle learns it.
func (c *contenders) admitted(leaf int, o *outline, n *needs, in *obstacle) bool {
	if l, short := c.lacking(leaf, o); l != nil {
		n.lacked = l.key.Kind
		if l.mayGive(short) {
			n.limits[l] = max(n.limits[l], short)
		}
		in.meet(l, n.limits[l] > 0)
		return false
	}
	if c.pool.lends && !c.lent(leaf, shares.Units(o.need.Cores)*c.power, in) {
		n.lacked = in.kind()
		return false
	}
	return true
}

// lacking is the first limit up the path, or of the queue's target slots, that this daemon has not enough escrow under
// for a job of the outline, and how much that takes; nil when all admit.
func (c *contenders) lacking(leaf int, sh *outline) (l *limit, need shares.Units) {
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

// unread notes the windows with an unknown head that a decision at a leaf waits for, and others that may be asked soon: the
// pulls to come would wait for them too.
func (c *contenders) unread(leaf int, n *needs) {
	if c.among != nil {
		c.among.short = true
		n.narrow(c.among)
		return
	}
	for _, g := range c.groups(leaf) {
		c.unreadHeads(g, n)
	}
	for sh := range c.outlines() {
		if len(sh.shapes) == 0 {
			for _, w := range sh.windows {
				if w.opened && !w.exact() {
					n.windows[w] = true
				}
			}
			continue
		}
		for _, leaf := range c.of.version.Tree.Leaves() {
			for _, g := range c.groups(leaf) {
				if g.outline == sh && len(n.windows) < mostUnread {
					c.unreadHeads(g, n)
				}
			}
		}
	}
}

// mostUnread bounds how many windows that ask for resources are read ahead of a decision: there may be one for every user,
// and what is needed next are those that begin first.
const mostUnread = 8 * mostFirst

// unreadHeads notes windows of a group: what resources keep back is not read.
func (c *contenders) unreadHeads(g *group, n *needs) {
	if !c.runs(g.outline) {
		return
	}
	if w := g.plain; w != nil && w.opened && !w.exact() {
		n.windows[w] = true
	}
	h := c.of.headsAt(g, c.headsOf())
	if h == nil {
		return
	}
	noted := 0
	for _, l := range h.in.list {
		for _, w := range l.what.in.list[:min(len(l.what.in.list), mostFirst)] {
			if noted >= mostFirst {
				return
			}
			if !w.what.filling && !w.what.exact() {
				n.windows[w.what] = true
				noted++
			}
		}
	}
}
