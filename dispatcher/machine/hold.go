package machine

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// heldKey says by whom, with jobs of which shape, and where units are held.
type heldKey struct {
	shape int32
	queue shares.QueueID
}

type heldCount struct {
	jobs  int64
	units shares.Units
}

// grant gives a ready job a lease.
func (s *state) grant(e entry.Granted) error {
	if l := s.leases.by[e.Job]; l != nil {
		return fmt.Errorf("granted: job %d has attempt %d already", e.Job, l.attempt)
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
	s.leases.add(e, user)
	q := s.site.queues[e.Queue]
	if q != nil && b.leaf >= 0 {
		s.served.serve(b, q.pool)
	}
	s.hold(log, e.Queue, 1, e.Units) // before what waits: a resource is told while the job still counts as one that does
	s.sorts.charge(&fx)
	s.changed(b, true)
	if q != nil && b.leaf >= 0 {
		s.supplies.tookUnits(b, q)
		q.pool.granted(b.leaf, e.Units)
	}
	s.sorts.turn(fx)
	return nil
}

// end ends a lease, and makes its job ready again where that is to be.
func (s *state) end(e entry.Ended) error {
	l, err := s.leases.attempt(e.Job, e.Attempt)
	if err != nil {
		return fmt.Errorf("ended: %w", err)
	}
	log, party := ready.Key{Share: l.share, Shape: l.shape}, s.claims.Of(e.Job)
	back := ready.Range{Place: l.place, Low: e.Job, High: e.Job, Task: l.task, Attempt: l.attempt + 1}
	if e.Next == entry.Again && party == nil { // of jobs with claims it is known by then alone where they will be
		if err := s.ready.Clash(log, back); err != nil {
			return fmt.Errorf("ended: %w", err)
		}
	}
	fx, err := s.claims.Ended(gate.End{Job: e.Job, Lost: e.Outcome == entry.Lost, Again: e.Next != entry.Over})
	if err != nil {
		return fmt.Errorf("ended: %w", err)
	}
	user := l.user.text
	s.leases.drop(e.Job, l)
	s.hold(log, l.queue, -1, -l.units)
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
	for job := range s.leases.ofTask(e.Task, e.Low, e.High) {
		l := s.leases.by[job]
		from := ready.Key{Share: l.share, Shape: l.shape}
		l.share, l.shape, l.place = e.Share, e.Shape, e.Place
		if from != to {
			s.hold(from, l.queue, -1, -l.units)
			s.hold(to, l.queue, 1, l.units)
		}
		s.sorts.turn(s.claims.Recharged(job, e.Share))
	}
	s.eased++
	return nil
}

// hold counts jobs that begin or cease to hold units.
func (s *state) hold(by ready.Key, at shares.QueueID, jobs int64, units shares.Units) {
	of := s.held[by.Share]
	if of == nil {
		of = map[heldKey]*heldCount{}
		s.held[by.Share] = of
	}
	key := heldKey{by.Shape, at}
	h := of[key]
	if h == nil {
		h = &heldCount{}
		of[key] = h
	}
	h.jobs += jobs
	h.units += units
	if h.jobs == 0 && h.units == 0 {
		delete(of, key)
	}
	s.book(by, at, jobs, units)
}

// book counts held units at queue, pool, leaf, user and resources of the present site.
func (s *state) book(by ready.Key, at shares.QueueID, jobs int64, units shares.Units) {
	q := s.site.queues[at]
	if q == nil {
		return
	}
	sh := s.words.shapes[by.Shape]
	cores := jobs * int64(sh.need.Cores)
	q.heldJobs += jobs
	q.heldCores += cores
	q.limit.charge(s, shares.Units(cores)*1000)
	s.site.holdTargets(s, q, by, jobs)
	s.supplies.holdResources(q, by, jobs)
	p := q.pool
	if q.State == shares.Online {
		p.limit.charge(s, units)
	} else {
		p.heldOffline += units
		p.book.SetCapacity(p.full())
	}
	node, ok := s.site.leaf(by.Share)
	if !ok {
		return
	}
	for _, l := range p.paths[node] {
		l.charge(s, units)
	}
	p.book.Hold(node, units)
	if us := s.leaves[node].users; us != nil {
		s.served.holdUser(us.of(sh.full.User), p, units)
	}
	if units < 0 {
		p.eased++
	}
	if r := s.leaves[node].reach[p]; r != nil && !r.stale && r.queues[q.pos] {
		r.hold(q, sh, units)
	}
	s.touch(node, false)
}

// limit is one hard limit: what it bounds may hold no more.
type limit struct {
	gate gate.Gate
	ref  string
	cap  shares.Units
	held shares.Units
	bars []bar // leaves that it keeps out of kinds of slots
}

// room is what may still be taken; no limit has any room.
func (l *limit) room() shares.Units {
	if l == nil {
		return shares.Unlimited
	}
	return l.cap - l.held
}

// charge counts what is taken, or given back when it is negative: then leaves contend again that it kept out.
func (l *limit) charge(s *state, units shares.Units) {
	if l == nil {
		return
	}
	l.held += units
	if units < 0 {
		s.kinds.unbar(l)
	}
}

// refuses is the refusal of a job that takes more than there is.
func (l *limit) refuses(units shares.Units) Refusal {
	return Refusal{Gate: l.gate, Ref: l.ref, Needed: int64(units), Had: int64(max(0, l.room()))}
}
