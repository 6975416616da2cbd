package dispatcher

import "github.com/divvyhq/divvy/shares"

// apply counts a move. own is true for moves of this daemon's lanes: only they spend this daemon's escrow.
func (s *state) apply(m move, own bool) {
	key := windowKey{m.Share, m.Shape}
	switch { // before what waits: a resource is told of a grant while its job still counts as one that waits
	case m.Before == isLeased && m.After != isLeased:
		s.hold(m, -1, own)
	case m.After == isLeased && m.Before != isLeased:
		s.hold(m, +1, own)
	}
	if m.After != isLeased && len(s.gangs.tasks) > 0 { // a gang that starts is not pending any more; others are as they were
		s.gangs.moved(m.Task, s.shapes[m.Shape])
	}
	if m.Before == isReady || m.After == isReady {
		s.narrows.moved(m)
		if w := s.window(key); w != nil {
			s.applyReady(w, m)
		}
	}
}

func (s *state) applyReady(w *window, m move) {
	was := w.groupWaits()
	if m.Before == isNone {
		s.fewerToCome(w, int64(m.N))
	}
	if m.Before == isReady {
		w.ready -= int64(m.N)
	}
	if m.Before == isReady && m.After != isLeased && m.High > 0 {
		w.withdraw(span{m.Place, m.Low, m.High})
	}
	if m.After == isReady {
		w.ready += int64(m.N)
		s.elders.saw(m.High)
		if m.High > 0 {
			w.announce(span{m.Place, m.Low, m.High})
		}
	}
	if m.After == isLeased {
		w.starts.add(float64(m.N))
	}
	w.recountWaits()
	s.recountWanted(w, m.After == isLeased)
	if w.leaf >= 0 {
		s.touch(w.leaf, (was > 0) != (w.groupWaits() > 0))
	}
	s.check(w)
}

func (s *state) hold(m move, sign int64, own bool) {
	key := heldKey{m.Share, m.Shape, m.Queue}
	of := s.held[m.Share]
	if of == nil {
		of = map[heldKey]*heldCount{}
		s.held[m.Share] = of
	}
	h := of[key]
	if h == nil {
		h = &heldCount{}
		of[key] = h
	}
	jobs, units := sign*int64(m.N), shares.Units(sign)*m.Units
	h.jobs += jobs
	h.units += units
	if h.jobs == 0 && h.units == 0 {
		delete(of, key)
	}
	s.book(key, jobs, units)
	if own {
		s.spend(key, jobs, units)
	}
}

// book counts held units at queue, pool and leaf.
func (s *state) book(key heldKey, jobs int64, units shares.Units) {
	q := s.queues[key.queue]
	if q == nil {
		return
	}
	if sh := s.shapes[key.shape]; sh != nil && !sh.need.Charges() {
		q.heldJobs += jobs
		q.heldCores += jobs * int64(sh.need.Cores)
	}
	s.holdTargets(q, key, jobs)
	s.holdResources(q, key, jobs)
	if q.State != shares.Online {
		q.pool.heldOffline += units
		q.pool.book.SetCapacity(q.pool.full())
	}
	node, ok := s.version.Tree.ByID(key.share)
	if !ok || !s.version.Tree.Leaf(node) {
		return
	}
	q.pool.book.Hold(node, units)
	if us := s.leaves[node].users; us != nil {
		s.holdUser(us, s.shapes[key.shape], q.pool, units)
	}
	if units < 0 {
		q.pool.eased++
	}
	if r := s.leaves[node].reach[q.pool]; r != nil && !r.stale && r.queues[q.pos] {
		r.hold(q, s.shapes[key.shape], units)
	}
	s.touch(node, false)
}

// spend charges this daemon's escrow. A credit on a limit in debt is returned by the escrow step.
func (s *state) spend(key heldKey, jobs int64, units shares.Units) {
	q := s.queues[key.queue]
	if q == nil {
		return
	}
	if q.limit != nil {
		q.limit.spent += shares.Units(jobs*int64(s.shapes[key.shape].need.Cores)) * 1000
	}
	s.spendTargets(q, key, jobs)
	s.spendResources(q, key, jobs)
	if l := q.pool.limit; l != nil && q.State == shares.Online {
		l.spent += units
	}
	if node, ok := s.version.Tree.ByID(key.share); ok {
		for _, l := range q.pool.pathLimits[node] {
			l.spent += units
			if units < 0 {
				l.ease()
			}
		}
	}
}
