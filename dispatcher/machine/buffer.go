package machine

import (
	"fmt"
	"slices"
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
	headed   bool        // it is among the heads of its group
	opened   bool        // whether it has something to give, as check saw it last
}

// group is the buffers of a leaf whose shapes have the same outline: what is in the way of one of them at a slot is in
// the way of all, but for resources.
type group struct {
	leaf       int
	outline    *outline
	buffers    []*buffer // but guests
	plain      *buffer   // that asks for no resource and is of no user; nil: there is none
	heads      map[headsKey]*gate.Heads
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
		b = s.newBuffer(key, sh)
		s.hang(b)
	}
	return b, nil
}

// newBuffer hangs nowhere yet.
func (s *state) newBuffer(key ready.Key, sh *shape) *buffer {
	b := &buffer{Buffer: s.ready.Buffer(key), shape: sh, leaf: -1, wants: gate.Wants{Asked: &sh.asked, Share: key.Share}}
	s.buffers[key] = b
	sh.own = append(sh.own, b)
	return b
}

// drop forgets a buffer that has no jobs and hangs nowhere any more.
func (s *state) drop(b *buffer) {
	b.shape.own = slices.DeleteFunc(b.shape.own, func(o *buffer) bool { return o == b })
	s.ready.Forget(b.Key())
	delete(s.buffers, b.Key())
}

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
	b.user = nil
	if l := &s.leaves[node]; l.users != nil {
		b.user = l.users.Of(b.Key().User)
		if !b.shape.guest {
			l.mine[b.user] = append(l.mine[b.user], b)
		}
	}
	if b.headed = b.shape.headed || b.user != nil || b.group.plain != nil; !b.headed && !b.shape.guest {
		b.group.plain = b
	}
	s.supplies.recountWanted(b, false)
	if b.shape.guest {
		s.sorts.follow(b)
	} else {
		b.shape.buffers, b.group.buffers = append(b.shape.buffers, b), append(b.group.buffers, b)
	}
	s.touch(node, true)
	s.check(b)
}

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

// enqueue makes jobs ready: those that are made, and of those that come back the ones that wait for the attempt. Others of these are over
// by now. Who says that they come back may not know yet where they went meanwhile: they have their share and place here.
func (s *state) enqueue(e entry.Enqueued) error {
	switch {
	case e.High < e.Low:
		return fmt.Errorf("jobs %d to %d: want the lower id first", e.Low, e.High)
	case s.words.shapes[e.Shape] == nil:
		return fmt.Errorf("shape %d is not known", e.Shape)
	case e.Attempt > 1:
		for _, w := range s.aside.Return(e.Task, e.Low, e.High, e.Attempt) {
			w.Shape = e.Shape
			if err := s.sorts.put(e.User, w, false); err != nil {
				return err
			}
		}
		s.eased++
		return nil
	}
	if err := s.fresh(e); err != nil {
		return err
	}
	if err := s.sorts.put(e.User, jobsOf(e), true); err != nil {
		return err
	}
	s.leases.Made(e.Task, e.Low, e.High)
	s.elders.Saw(e.High)
	s.eased++
	return nil
}

// fresh says whether jobs are there already. Ids rise, so that most need no look.
func (s *state) fresh(e entry.Enqueued) error {
	if e.Low > s.elders.Newest {
		return nil
	}
	for id := range s.leases.OfTask(e.Task, e.Low, e.High) {
		return fmt.Errorf("job %d has a lease", id)
	}
	w := jobsOf(e)
	for state, set := range map[string]*ready.Set{"is ready": s.ready, "is of a paused task": s.aside.Paused, "waits": s.aside.Waiting} {
		if err := set.Clash(w.Key, w.Range); err != nil {
			return fmt.Errorf("a job %s already: %w", state, err)
		}
	}
	return nil
}

// jobsOf are those of an entry, by share and shape of the log.
func jobsOf(e entry.Enqueued) ready.Part {
	return ready.Part{Key: ready.Key{Share: e.Share, Shape: e.Shape},
		Range: ready.Range{Place: e.Place, Low: e.Low, High: e.High, Task: e.Task, Attempt: e.Attempt}}
}

// put puts jobs where their claims have them, or aside where their task is paused. made: for the first time.
func (so *sorts) put(user string, jobs ready.Part, made bool) error {
	if so.words.shapes[jobs.Shape] == nil {
		return fmt.Errorf("shape %d is not known", jobs.Shape)
	}
	if so.aside.Pauses(jobs.Task) {
		if made {
			b, err := so.buffer(jobs.Key)
			if err != nil {
				return err
			}
			so.made(b, jobs.Jobs())
		}
		return so.aside.Paused.Put(jobs.Key, user, jobs.Range)
	}
	for ids, party := range so.claims.Split(jobs.Low, jobs.High) {
		b, err := so.buffer(so.keyOf(jobs.Key, party, user))
		if err != nil {
			return err
		}
		r := jobs.Range
		r.Low, r.High = ids.Low, ids.High
		if err := so.ready.Put(b.Key(), user, r); err != nil {
			return err
		}
		if made {
			so.made(b, r.Jobs())
		}
		so.changed(b, false)
	}
	return nil
}

// expect says how many jobs of a buffer are still to be made.
func (s *state) expect(e entry.Expected) error {
	b, err := s.buffer(ready.Key{Share: e.Share, Shape: e.Shape})
	if err != nil {
		return err
	}
	if e.More {
		e.Jobs += b.expected
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
		s.kinds.offered(g, nil)
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
		b.wants.Release()
	}
	switch {
	case b.shape.guest:
		s.sorts.follow(b)
	case b.headed:
		s.kinds.rank(b)
	case is != was:
		s.kinds.offered(b.group, nil)
	}
}
