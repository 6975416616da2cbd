package dispatcher

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
	h := c.of.headsAt(g, c.headsOf(g))
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
