package machine

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// buffer is the ready jobs of a (share, shape), hung on its leaf.
type buffer struct {
	*ready.Buffer
	shape    *shape
	leaf     int         // node of the present tree; -1: the share has gone
	group    *group      // nil where there is no leaf
	user     *books.User // whose jobs it has, where its leaf gives turns to users; else nil
	expected int64       // jobs that are still to be made
	waits    int64       // jobs as the group has counted them,
	coming   int64       // and of them those to be made
	wants    gate.Wants  // what its jobs want of resources
	opened   bool        // whether it has something to give, as check saw it last
}

// group is the buffers of a leaf whose shapes have the same outline: what is in the way of one of them at a slot is in
// the way of all, but for resources.
type group struct {
	leaf       int
	outline    *outline
	plain      *buffer // of the shape that asks for no resource and names no user; nil: there is none
	heads      map[headsKey]*heads
	books.Work           // jobs of all its buffers that are ready or to be made
	coming     int64     // of them, those to be made
	kinds      int64     // of slots that there were when heads were made
	passed     bool      // pulls do not wait for these, see makingMost
	asked      time.Time // when one first did, without a gap up to met
	met        time.Time // when one last did
}

// open says whether a job may come out of it.
func (b *buffer) open() bool { return b.Count() > 0 && !b.shape.sort.Full() }

// first is where its first job stands; it must be open.
func (b *buffer) first() ready.Stand {
	r, _ := b.First()
	return r.Stand()
}

// buffer finds or makes the buffer of a (share, shape).
func (s *state) buffer(key ready.Key) (*buffer, error) {
	b := s.buffers[key]
	if b == nil {
		sh := s.words.shapes[key.Shape]
		if sh == nil {
			return nil, fmt.Errorf("shape %d is not known", key.Shape)
		}
		b = &buffer{Buffer: s.ready.Buffer(key), shape: sh, leaf: -1, wants: gate.Wants{Asked: &sh.asked, Share: key.Share}}
		s.buffers[key] = b
		sh.own = append(sh.own, b)
		s.hang(b)
	}
	return b, nil
}

// hang ties a buffer to its leaf.
func (s *state) hang(b *buffer) {
	b.opened = false
	node, ok := s.site.Leaf(b.Key().Share)
	if !ok {
		b.leaf, b.group, b.user = -1, nil, nil
		b.wants.Forget()
		return
	}
	b.leaf, b.group, b.waits, b.coming = node, s.leaves[node].group(node, b.shape.outline), 0, 0
	b.recountWaits()
	b.wants.Forget()
	if !b.shape.headed && !b.shape.guest {
		b.group.plain = b
	}
	s.hangUser(b)
	s.supplies.recountWanted(b, false)
	if !b.shape.guest {
		b.shape.buffers = append(b.shape.buffers, b)
	}
	s.sorts.follow(b)
	s.touch(node, true)
	s.check(b)
}

// group finds or makes the group of an outline.
func (l *leaf) group(node int, o *outline) *group {
	for _, g := range l.groups {
		if g.outline == o {
			return g
		}
	}
	g := &group{leaf: node, outline: o, Work: books.Work{Fit: &o.Fit}}
	l.groups, l.work = append(l.groups, g), append(l.work, &g.Work)
	return g
}

// recountWaits brings the count of the group up to date after the jobs of a buffer have changed.
func (b *buffer) recountWaits() {
	n, coming := b.Count()+b.expected, b.expected
	b.group.Waits += n - b.waits
	b.group.coming += coming - b.coming
	b.waits, b.coming = n, coming
}

// changed follows that the jobs of a buffer are more or fewer. granted: one was granted.
func (s *state) changed(b *buffer, granted bool) {
	if b.leaf >= 0 {
		was := b.group.Waits > 0
		b.recountWaits()
		s.touch(b.leaf, was != (b.group.Waits > 0))
	}
	s.supplies.recountWanted(b, granted)
	s.check(b)
}

// enqueue makes jobs ready.
func (s *state) enqueue(e entry.Enqueued) error {
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("enqueued: shape %d is not known", e.Shape)
	}
	for id := range s.leases.OfTask(e.Task, e.Low, e.High) {
		return fmt.Errorf("enqueued: job %d has a lease", id)
	}
	log := ready.Key{Share: e.Share, Shape: e.Shape}
	whole := ready.Range{Place: e.Place, Low: e.Low, High: e.High, Task: e.Task, Attempt: e.Attempt}
	for ids, party := range s.claims.Split(e.Low, e.High) {
		part := whole
		part.Low, part.High = ids.Low, ids.High
		if err := s.ready.Clash(s.sorts.keyOf(log, party), part); err != nil {
			return fmt.Errorf("enqueued: %w", err)
		}
	}
	if err := s.sorts.put(e, e.Attempt <= 1); err != nil {
		return fmt.Errorf("enqueued: %w", err)
	}
	s.elders.Saw(e.High)
	s.eased++
	return nil
}

// put puts jobs where their claims have them. made: for the first time.
func (so *sorts) put(e entry.Enqueued, made bool) error {
	s := so.state
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("shape %d is not known", e.Shape)
	}
	for ids, party := range s.claims.Split(e.Low, e.High) {
		r := ready.Range{Place: e.Place, Low: ids.Low, High: ids.High, Task: e.Task, Attempt: e.Attempt}
		if err := s.sorts.putReady(ready.Key{Share: e.Share, Shape: e.Shape}, party, e.User, r, made); err != nil {
			return err
		}
	}
	return nil
}

// withdraw makes ready jobs ready no more.
func (s *state) withdraw(e entry.Withdrew) {
	for _, w := range s.ready.Withdraw(e.Task, e.Low, e.High) {
		b := s.buffers[w.Key]
		for ids, party := range s.claims.Split(w.Low, w.High) {
			if party != nil {
				party.Count(b.log(), ids.Low-ids.High-1)
			}
		}
		s.changed(b, false)
	}
	s.sorts.sweep()
}

// expect says how many jobs of a buffer are still to be made.
func (s *state) expect(e entry.Expected) error {
	b, err := s.buffer(ready.Key{Share: e.Share, Shape: e.Shape})
	if err != nil {
		return fmt.Errorf("expected: %w", err)
	}
	s.setExpected(b, e.Jobs)
	return nil
}

func (s *state) setExpected(b *buffer, n int64) {
	awaited := b.group != nil && b.group.unmade()
	b.expected = max(0, n)
	s.changed(b, false)
	g := b.group
	if g == nil {
		return
	}
	if g.coming == 0 {
		g.passed, g.asked = false, time.Time{}
	}
	if g.unmade() != awaited {
		s.making.asked = time.Time{} // what was waited for until now is another thing
		s.kinds.offered(g)
		s.eased++
	}
}

// check notes whether a buffer has something to give, after anything about it has changed.
func (s *state) check(b *buffer) {
	if b.Count() == 0 && b.shape.passes() {
		s.sorts.spent = append(s.sorts.spent, b)
	}
	if b.leaf < 0 {
		b.opened = false
		return
	}
	is, was := b.open(), b.opened
	if b.opened = is; was && !is {
		s.supplies.Release(&b.wants)
	}
	switch {
	case b.shape.guest:
		s.sorts.follow(b)
	case b.shape.headed:
		s.kinds.rank(b)
	case is != was:
		s.kinds.offered(b.group)
	}
}
