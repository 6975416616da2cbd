package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// makingMost is how many times Timing.Making pulls wait for the jobs of one leaf. Jobs that are not made yet are work like any
// other: a leaf contends with them where it has none ready of their outline. When such a leaf comes first the pull waits until a
// generator has made some. Three bounds hold for that. When no generator makes a job for Timing.Making, pulls pass all such leaves
// until one does. A pull also passes them when its own wait was over makingMost times Timing.Making ago. And a leaf for which pulls
// have waited makingMost times Timing.Making is passed until its jobs are made: its generator may hang, or find no piece to make.
const makingMost = 5

// makingGap is how many times Timing.Making no pull waits for a leaf before the time of that leaf begins anew. A pull that waits
// is decided again every Timing.Making at the latest.
const makingGap = 2

// making is what is known of generators while pulls wait for them. Guarded by Dispatcher.mu.
type making struct {
	pause  time.Duration
	asked  time.Time // when a pull first waited since something was made; zero: none has
	passed []*group  // since nothing was made
}

// unmade says whether the group has nothing but jobs to come, and pulls wait for these.
func (g *group) unmade() bool {
	return g.coming > 0 && g.waits <= g.coming && !g.passed && !g.outline.need.Claims.Starts()
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
	if g.asked.IsZero() || now.Sub(g.met) > makingGap*s.making.pause {
		g.asked = now
	}
	g.met = now
	late := now.Sub(g.asked) >= most
	if !late && now.Sub(s.making.asked) < s.making.pause && now.Sub(p.until) < most {
		s.diary.tape.met(p, g, true)
		return true
	}
	if !late {
		s.making.passed = append(s.making.passed, g)
	}
	n.passed++
	s.diary.tape.met(p, g, false)
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
	longest, leaves := 0, make([][]int, len(lines))
	for i, l := range lines {
		if leaves[i] = []int{l.of[0].Leaf}; l.book != nil {
			leaves[i] = l.book.Order(l.capacity, l.of, mostOrdered/len(tree.Nodes))
		}
		longest = max(longest, len(leaves[i]))
	}
	var order []shares.ShareID
	for i := range longest { // no pool's pulls wait until all of another pool is made
		for _, of := range leaves {
			if i < len(of) {
				order = append(order, tree.Nodes[of[i]].ID)
			}
		}
	}
	return order, nil
}

// unmadeLine is the leaves of a pool that wait for their first jobs.
type unmadeLine struct {
	book     *shares.Pool // a copy; nil: there is one candidate only
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
	var cold []*group
	for _, leaf := range s.version.Tree.Leaves() {
		for _, g := range s.leaves[leaf].groups {
			if g.coming > 0 && g.waits <= g.coming {
				cold = append(cold, g)
			}
		}
	}
	for _, name := range s.poolNames() {
		p := s.pools[name]
		l := unmadeLine{capacity: p.full()}
		for _, g := range cold {
			if power := s.powerAt(g.leaf, g.outline, p); power > 0 {
				l.of = append(l.of, shares.Candidate{Leaf: g.leaf, Units: shares.Units(g.outline.need.Cores) * power})
			}
		}
		if len(l.of) > 1 {
			l.book = p.book.Copy()
		}
		if len(l.of) > 0 {
			lines = append(lines, l)
		}
	}
	return lines, s.version.Tree, nil
}
