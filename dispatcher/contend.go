package dispatcher

import (
	"cmp"
	"slices"
)

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
	if c.awaits(leaf) {
		return true
	}
	starved := ""
	for _, g := range c.groups(leaf) {
		if !c.runs(g.outline) {
			continue
		}
		if c.has(g) {
			return true
		}
		if h := c.of.headsAt(g, c.headsOf(g)); h != nil {
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
	h := c.of.headsAt(g, c.headsOf(g))
	return h != nil && h.in.any()
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
	case w.shape.need.Claims.Starts():
		s.gangs.follow(w)
		return
	case w.leaf < 0:
		return
	case w.shape.headed:
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
