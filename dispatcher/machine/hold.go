package machine

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// grant gives a ready job a lease.
func (s *state) grant(e entry.Granted) error {
	if l := s.leases.Run(e.Job); l != nil {
		return fmt.Errorf("granted: job %d has attempt %d already", e.Job, l.Attempt)
	}
	log, party := ready.Key{Share: e.Share, Shape: e.Shape}, s.claims.Of(e.Job)
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("granted: shape %d is not known", e.Shape)
	}
	key := s.sorts.keyOf(log, party)
	b := s.buffers[key]
	if b == nil {
		return fmt.Errorf("granted: job %d is not ready: no job of share %d and shape %d is", e.Job, e.Share, e.Shape)
	}
	user, _ := s.ready.User(e.Task)
	r, ok := s.ready.Take(key, e.Place, e.Job)
	switch {
	case !ok:
		return fmt.Errorf("granted: job %d of share %d and shape %d is not ready at place %d", e.Job, e.Share, e.Shape, e.Place)
	case r.Task != e.Task || r.Attempt != e.Attempt:
		if err := s.ready.Put(key, user, r); err != nil {
			return err
		}
		return fmt.Errorf("granted: job %d is ready as attempt %d of task %d, not %d of %d", e.Job, r.Attempt, r.Task, e.Attempt, e.Task)
	}
	fx, err := s.claims.Granted(gate.Grant{Job: e.Job, Place: s.sorts.place(e.Queue, e.Node), Queue: e.Queue, Share: e.Share})
	if err != nil {
		if back := s.ready.Put(key, user, r); back != nil {
			return back
		}
		return fmt.Errorf("granted: job %d: %w", e.Job, err)
	}
	if party != nil {
		party.Count(log, -1)
	}
	s.leases.Add(e, user)
	q := s.site.Queues[e.Queue]
	if q != nil && b.leaf >= 0 {
		s.served.Serve(b.user, q.Home)
	}
	s.hold(log, e.Queue, 1, e.Units) // before what waits: a resource is told while the job still counts as one that does
	s.sorts.charge(&fx)
	s.changed(b, true)
	if q != nil && b.leaf >= 0 {
		s.supplies.Took(&b.wants, &q.Queue)
		q.Home.Granted(b.leaf, e.Units)
	}
	s.sorts.turn(fx)
	return nil
}

// end ends a lease, and makes its job ready again where that is to be.
func (s *state) end(e entry.Ended) error {
	l, err := s.leases.Attempt(e.Job, e.Attempt)
	if err != nil {
		return fmt.Errorf("ended: %w", err)
	}
	log, party := ready.Key{Share: l.Share, Shape: l.Shape}, s.claims.Of(e.Job)
	back := ready.Range{Place: l.Place, Low: e.Job, High: e.Job, Task: l.Task, Attempt: l.Attempt + 1}
	if e.Next == entry.Again && party == nil { // of jobs with claims it is known by then alone where they will be
		if err := s.ready.Clash(log, back); err != nil {
			return fmt.Errorf("ended: %w", err)
		}
	}
	fx, err := s.claims.Ended(gate.End{Job: e.Job, Lost: e.Outcome == entry.Lost, Again: e.Next != entry.Over})
	if err != nil {
		return fmt.Errorf("ended: %w", err)
	}
	user := l.User.Text
	s.leases.Drop(e.Job, l)
	s.hold(log, l.Queue, -1, -l.Units)
	s.sorts.turn(fx)
	if e.Next == entry.Again {
		if err := s.sorts.putReady(log, party, user, back, false); err != nil {
			return fmt.Errorf("ended: %w", err)
		}
	}
	s.eased++
	return nil
}

// recharge has leases count for another share and shape.
func (s *state) recharge(e entry.Recharged) error {
	to := ready.Key{Share: e.Share, Shape: e.Shape}
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("recharged: shape %d is not known", e.Shape)
	}
	for job := range s.leases.OfTask(e.Task, e.Low, e.High) {
		l := s.leases.Run(job)
		from := ready.Key{Share: l.Share, Shape: l.Shape}
		l.Share, l.Shape, l.Place = e.Share, e.Shape, e.Place
		if from != to {
			s.hold(from, l.Queue, -1, -l.Units)
			s.hold(to, l.Queue, 1, l.Units)
		}
		s.sorts.turn(s.claims.Recharged(job, e.Share))
	}
	s.eased++
	return nil
}

// hold counts jobs that begin or cease to hold units.
func (s *state) hold(by ready.Key, at shares.QueueID, jobs int64, units shares.Units) {
	s.held.Add(by.Share, books.HeldKey{Shape: by.Shape, Queue: at}, books.HeldCount{Jobs: jobs, Units: units, Class: s.words.shapes[by.Shape].ClassAt})
	s.book(by, at, jobs, units)
}

// book counts held units at queue, pool, leaf, user and resources of the present site.
func (s *state) book(by ready.Key, at shares.QueueID, jobs int64, units shares.Units) {
	q := s.site.Queues[at]
	if q == nil {
		return
	}
	sh := s.words.shapes[by.Shape]
	node, ok := s.site.Hold(books.Holding{Queue: q, Share: by.Share, Class: sh.Class, Jobs: jobs, Cores: jobs * int64(sh.Need.Cores), Units: units})
	if sh.asked.Any() {
		s.supplies.Hold(sh.asked.List, &q.Queue, sh.asked.Payer, by.Share, jobs)
	}
	if !ok {
		return
	}
	l := &s.leaves[node]
	if l.users != nil {
		s.holdUser(l, l.users.Of(sh.full.User), q.Home, units)
	}
	if r := l.reach[q.Home]; r != nil {
		r.Hold(q, sh.ClassAt, units)
	}
	s.touch(node, false)
}
