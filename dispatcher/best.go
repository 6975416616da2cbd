package dispatcher

import (
	"cmp"

	"github.com/divvyhq/divvy/shares"
)

// choice is the best window of a leaf for a slot.
type choice struct {
	window *window
	exact  bool // its head is known to be the best
	units  shares.Units
	turn   userTurn // of its user in the pool, where the leaf gives turns to users; the stand is not set
	floor  bool     // the leaf is due by one
	remote bool     // it would rather run elsewhere

	job  *readyJob // of a gang; nil: the window's first
	gang bool
}

// choice is a window that the leaf may give a job from.
func (c *contenders) choice(of due, w *window, q *queue) choice {
	return choice{window: w, exact: w.exact(), units: shares.Units(w.shape.need.Cores) * c.power, turn: w.turn(c.pool, stand{}),
		floor: of.floor != nil, remote: c.of.remote(w, q)}
}

// best is the window that the leaf gives a job from: of the user who holds least where it gives turns to users, then the
// earliest head, or the widest shape where the queue prefers it, of those that the limits of the path, lending and borrowing and resources admit. When none is left, in is what stands
// in the way, or nothing if the leaf has no job after all. A leaf that is due by a floor gives a job of its class.
func (c *contenders) best(of due, q *queue, n *needs) (found choice, in obstacle) {
	if c.among != nil {
		return c.bestAmong(of, q, n)
	}
	by := c.of.leafOrder(of.leaf, q)
	for _, g := range c.groups(of.leaf) {
		if !c.runs(g.outline) || !of.takes(g.outline) {
			continue
		}
		if g.plain != nil {
			c.of.sift(g.plain)
		}
		plain, h := g.plain != nil && g.plain.open(), c.of.headsAt(g, c.headsOf(g))
		if !plain && (h == nil || !h.in.any()) {
			if h != nil {
				in.scarce = cmp.Or(in.scarce, h.keptBack())
			}
			if g.unmade() && c.admitted(of.leaf, g.outline, n, &in) {
				in.unmade = g
			}
			continue
		}
		if !c.admitted(of.leaf, g.outline, n, &in) {
			continue
		}
		if plain {
			found.meet(c.choice(of, g.plain, q), by)
		}
		if h != nil {
			if w := c.first(h, q, n, &in); w != nil {
				found.meet(c.choice(of, w, q), by)
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
	by := c.of.leafOrder(of.leaf, q)
	for _, w := range c.windows(of.leaf) {
		c.of.sift(w)
		o := w.shape.outline
		if !c.runs(o) || !of.takes(o) || !w.open() || !c.admitted(of.leaf, o, n, &in) {
			continue
		}
		if no := c.of.short(w, q); no.stands() {
			if l := no.limit; l != nil && l.mayGive(no.need()) {
				n.lack(l, no.need())
				in.meet(l, true)
				continue
			}
			in.scarce = no.by.why
			n.lacked = in.scarce
			continue
		}
		found.meet(c.choice(of, w, q), by) // all are of one user
	}
	return found, in
}

// admitted says whether the limits of the path, target slots, lending and borrowing admit jobs of an outline; if not, the
// obstacle learns it.
func (c *contenders) admitted(leaf int, o *outline, n *needs, in *obstacle) bool {
	if l, short := c.lacking(leaf, o); l != nil {
		n.lacked = l.key.Kind
		if l.mayGive(short) {
			n.lack(l, short)
		}
		in.meet(l, n.asks(l))
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
func (b *choice) meet(other choice, by leafOrder) {
	if b.window == nil {
		*b = other
		return
	}
	if c := other.turn.compare(b.turn); c != 0 { // whatever their first jobs are
		if c < 0 {
			*b = other
		}
		return
	}
	exact := b.exact && other.exact
	switch narrow := other.window.shape.need.Cores - b.window.shape.need.Cores; {
	case by.wide && narrow < 0:
		return
	case by.wide && narrow > 0:
		*b = other
		return
	case len(other.window.jobs) == 0 || len(b.window.jobs) == 0:
		exact = false // one of the two is not read yet: the leaf's best job is unknown until it is
	case other.before(b, by):
		*b = other
	}
	b.exact = exact
}
