package machine

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

func (s *state) grant(e entry.Granted) error {
	if l := s.leases.Run(e.Job); l != nil {
		return fmt.Errorf("job %d has attempt %d already", e.Job, l.Attempt)
	}
	log, party := ready.Key{Share: e.Share, Shape: e.Shape}, s.claims.Of(e.Job)
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("shape %d is not known", e.Shape)
	}
	user, _ := s.ready.User(e.Task)
	key := s.sorts.keyOf(log, party, user)
	b := s.buffers[key]
	if b == nil {
		return fmt.Errorf("job %d is not ready: no job of share %d and shape %d is", e.Job, e.Share, e.Shape)
	}
	r, ok := s.ready.Take(key, e.Place, e.Job)
	switch {
	case !ok:
		return fmt.Errorf("job %d of share %d and shape %d is not ready at place %d", e.Job, e.Share, e.Shape, e.Place)
	case r.Task != e.Task || r.Attempt != e.Attempt:
		if err := s.ready.Put(key, user, r); err != nil {
			return err
		}
		return fmt.Errorf("job %d is ready as attempt %d of task %d, not %d of %d", e.Job, r.Attempt, r.Task, e.Attempt, e.Task)
	}
	fx, err := s.claims.Granted(gate.Grant{Job: e.Job, Place: s.sorts.place(e.Queue, e.Node), Queue: e.Queue, Share: e.Share})
	if err != nil {
		if back := s.ready.Put(key, user, r); back != nil {
			return back
		}
		return fmt.Errorf("job %d: %w", e.Job, err)
	}
	s.leases.Add(e, user, s.now)
	s.holes.Given(e.Queue, s.now)
	q := s.site.Queues[e.Queue]
	if q != nil && b.leaf >= 0 {
		s.served.Serve(b.user, q.Home)
	}
	s.hold(s.leases.Run(e.Job), 1) // before what waits: a resource is told while the job still counts as one that does
	s.sorts.charge(&fx)
	s.changed(b, true)
	if q != nil && b.leaf >= 0 {
		s.supplies.Took(&b.wants, &q.Queue)
		q.Home.Granted(b.leaf, e.Units)
	}
	s.sorts.turn(fx)
	return nil
}

// end ends a lease, and makes its job ready again where that is to be, or has it wait.
func (s *state) end(e entry.Ended) error {
	l, err := s.leases.Attempt(e.Job, e.Attempt)
	if err != nil {
		return err
	}
	if !e.Next.Final() && s.leases.Killed(e.Job) {
		return fmt.Errorf("job %d was killed, want an end that is final, not %q", e.Job, e.Next)
	}
	user, back := s.leases.User(l), ready.Part{Key: ready.Key{Share: l.Home, Shape: l.Shape},
		Range: ready.Range{Place: l.Place, Low: e.Job, High: e.Job, Task: l.Task, Attempt: l.Attempt + 1}}
	fx, err := s.claims.Ended(gate.End{Job: e.Job, Lost: e.Outcome == entry.Lost, Again: !e.Next.Final()})
	if err != nil {
		return err
	}
	s.hold(l, -1)
	s.leases.Drop(l)
	s.sorts.turn(fx)
	switch e.Next {
	case entry.Again:
		err = s.sorts.put(user, back, false)
	case entry.Waits:
		err = s.aside.Waiting.Put(back.Key, user, back.Range)
	}
	s.eased++
	return err
}

// hold counts jobs of a lease that begin or cease to hold units.
func (s *state) hold(l *running.Run, jobs int64) {
	key, n := s.countHeld(l, jobs)
	s.book(l.Share, key, n)
}

// countHeld counts them whatever the site is.
func (s *state) countHeld(l *running.Run, jobs int64) (books.HeldKey, books.HeldCount) {
	key := books.HeldKey{Shape: l.Shape, Queue: l.Queue}
	if s.givesTurns(l.Share) {
		key.User = s.leases.User(l)
	}
	n := books.HeldCount{Jobs: jobs, Units: shares.Units(jobs) * l.Units, Class: s.words.shapes[l.Shape].ClassAt}
	s.held.Add(l.Share, key, n)
	return key, n
}

// book counts held units at queue, pool, leaf, user and resources of the present site.
func (s *state) book(share shares.ShareID, key books.HeldKey, n books.HeldCount) {
	q := s.site.Queues[key.Queue]
	if q == nil {
		return
	}
	sh := s.words.shapes[key.Shape]
	node, ok := s.site.Hold(q, share, &sh.Fit, n)
	if sh.asked.Any() {
		s.supplies.Hold(sh.asked.List, &q.Queue, sh.asked.Payer, share, n.Jobs)
	}
	if !ok {
		return
	}
	l := &s.leaves[node]
	if l.users != nil {
		u := l.users.Of(key.User)
		u.Held[q.Home] += n.Units
		for _, b := range l.mine[u] {
			if b.opened {
				s.kinds.rank(b)
			}
		}
	}
	if r := l.reach[q.Home]; r != nil {
		r.Hold(q, sh.ClassAt, n.Units)
	}
	s.touch(node, false)
}
