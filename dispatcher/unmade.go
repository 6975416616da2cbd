package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// makingMost is how many times Timing.Making a leaf is waited for. Jobs that are not made yet are work like any other: a leaf
// that has some to come of an outline, and none ready, contends, and when it comes first the pull waits until a generator has
// made some. That is bounded. When nobody makes anything for Timing.Making pulls pass all such leaves until somebody does, and
// so does a pull that is as late as makingMost beyond its own wait. A leaf that is not made within makingMost is not waited
// for again before it has been: its generator may hang, or find no piece to make.
const makingMost = 5

// making is what is known of generators while pulls wait for them. Guarded by Dispatcher.mu.
type making struct {
	pause  time.Duration
	asked  time.Time // when a pull first waited since something was made; zero: none has
	passed []*group  // since nothing was made
}

// unmade says whether the group has nothing but jobs to come, and pulls wait for these.
func (g *group) unmade() bool {
	return g.coming > 0 && g.waits <= g.coming && !g.passed && !g.outline.need.Claims.gang()
}

// awaits says whether jobs to come may have to be waited for, of a leaf that has nothing else to give.
func (c *contenders) awaits(leaf int) bool {
	for _, g := range c.groups(leaf) {
		if g.unmade() && c.runs(g.outline) {
			return true
		}
	}
	return false
}

// unmade says whether that is the case of a leaf.
func (c *contenders) unmade(leaf int) bool {
	return c.awaits(leaf) && !slices.ContainsFunc(c.windows(leaf), func(w *window) bool { return c.runs(w.shape.outline) && w.open() })
}

// patient says whether the pull waits for jobs to be made; if not, the group is passed.
func (s *state) patient(p *pull, g *group, n *needs) bool {
	now, most := time.Now(), makingMost*s.making.pause
	if s.making.asked.IsZero() {
		s.making.asked = now
	}
	if g.asked.IsZero() {
		g.asked = now
	}
	late := now.Sub(g.asked) >= most
	if !late && now.Sub(s.making.asked) < s.making.pause && now.Sub(p.until) < most {
		return true
	}
	if !late {
		s.making.passed = append(s.making.passed, g)
	}
	n.passed++
	s.pass(g, true)
	return false
}

func (s *state) pass(g *group, passed bool) {
	if g.passed != passed {
		g.passed = passed
		s.reviewGroup(g)
	}
}

// made is called when jobs were made by anybody: pulls wait for others again.
func (s *state) made() {
	s.making.asked = time.Time{}
	for _, g := range s.making.passed {
		s.pass(g, false)
	}
	s.making.passed = nil
}

// fewerToCome counts jobs of a window that were made: they are not to come any more. How many are is read now and then only.
func (s *state) fewerToCome(w *window, n int64) {
	if plain := w.shape.plain; plain != 0 {
		if w = s.windows[windowKey{w.key.share, plain}]; w == nil {
			return
		}
	}
	if w.group != nil {
		w.group.passed, w.group.asked = false, time.Time{}
	}
	if w.backlog > 0 {
		s.setBacklog(w.key, max(0, w.backlog-n))
	}
}

// reviewGroup has all sets look at the leaf again that slots are for which could run jobs of the group.
func (s *state) reviewGroup(g *group) {
	for _, c := range s.contenders {
		if c.runs(g.outline) {
			c.review(g.leaf)
		}
	}
}

// awaitMaking has decisions that wait for generators tried again after a while, if nothing was made meanwhile. d.mu is held.
func (d *Dispatcher) awaitMaking() {
	if d.awaiting {
		return
	}
	d.awaiting = true
	time.AfterFunc(d.cfg.Timing.Making, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.awaiting = false
		d.line.unblock(d, nil)
		d.kick()
	})
}

// madeSome is called when jobs were made by anybody. d.mu is held.
func (d *Dispatcher) madeSome() {
	d.madeSince = true
	d.state.made()
	if d.awaiting {
		d.line.unblock(d, nil)
	}
}

// Coming is how many jobs of a shape a share has to come.
type Coming struct {
	Share shares.ShareID
	Shape int32
	Jobs  int64
}

// mostOrdered bounds an Order: nodes of the tree, for each share in it.
const mostOrdered = 1 << 20

// Order says in which order jobs are to be made for shares that have some to come and none ready: that in which they come first
// at the pulls to come. Jobs to come that this daemon did not know of count from now on.
func (d *Dispatcher) Order(ctx context.Context, coming []Coming) ([]shares.ShareID, error) {
	lines, tree, err := d.unmadeLines(ctx, coming)
	if err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	var order []shares.ShareID
	for _, l := range lines {
		for _, leaf := range l.book.Order(l.capacity, l.of, mostOrdered/len(tree.Nodes)) {
			order = append(order, tree.Nodes[leaf].ID)
		}
	}
	return order, nil
}

// unmadeLine is the leaves of a pool that wait for their first jobs.
type unmadeLine struct {
	book     *shares.Pool // a copy
	capacity shares.Units
	of       []shares.Candidate
}

func (d *Dispatcher) unmadeLines(ctx context.Context, coming []Coming) (lines []unmadeLine, tree *shares.Tree, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	for _, c := range coming {
		if s.shapes[c.Shape] == nil {
			if err := s.loadShapes(ctx, d.cfg.Pool); err != nil {
				return nil, nil, err
			}
		}
		if w := s.window(windowKey{c.Share, c.Shape}); w != nil && w.backlog == 0 && c.Jobs > 0 {
			s.setBacklog(w.key, c.Jobs)
			s.diary.noteBacklog(w)
		}
	}
	s.settle()
	for _, name := range s.poolNames() {
		p := s.pools[name]
		l := unmadeLine{capacity: p.full()}
		for _, leaf := range s.version.Tree.Leaves() {
			for _, g := range s.leaves[leaf].groups {
				if power := s.powerAt(leaf, g.outline, p); g.coming > 0 && g.waits <= g.coming && power > 0 {
					l.of = append(l.of, shares.Candidate{Leaf: leaf, Units: shares.Units(g.outline.need.Cores) * power})
				}
			}
		}
		if len(l.of) > 0 {
			l.book = p.book.Copy()
			lines = append(lines, l)
		}
	}
	return lines, s.version.Tree, nil
}
