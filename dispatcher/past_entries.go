package dispatcher

import (
	"context"
	"maps"
	"math"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// handle does what the daemon did when it noted the entry.
func (p *past) handle(ctx context.Context, e entry) error {
	switch {
	case e.word == wordBroken && e.ref == entriesLost:
		p.lose(replay.Missing)
	case e.word == wordBroken:
		p.lose(replay.Sampled)
	case e.word == wordStand && p.state != nil:
		p.skip = true
		clear(p.kinds) // those that follow are told of anew
	case e.word == wordStand:
		p.stand = &pastStand{at: e.at, number: e.number, lanes: map[laneID]int64{}}
	case p.skip:
		p.skip = e.word != wordStood
	case p.stand != nil && e.word == wordStood:
		return p.settle(ctx)
	case p.stand != nil:
		p.stand.read(e, p.queues)
	case p.state != nil:
		return p.follow(ctx, e)
	}
	return nil
}

// read takes in an entry of a stand.
func (s *pastStand) read(e entry, queues map[shares.QueueID]shares.QueueState) {
	switch e.word {
	case wordQueue:
		queues[shares.QueueID(e.queue)] = queueStates[e.amount]
	case wordVersion:
		s.version = e
	case wordTarget:
		s.targets = append(s.targets, e)
	case wordSeen:
		s.lanes[laneID{e.ref, int(e.shape)}] = e.amount
	case wordFlight:
		s.flights = append(s.flights, e)
	default:
		s.rest = append(s.rest, e)
	}
}

// settle makes the state of a stand.
func (p *past) settle(ctx context.Context) error {
	st := p.stand
	p.stand = nil
	v, err := p.version(ctx, st.version)
	if err != nil {
		p.lose(replay.NoVersion)
		return nil
	}
	fold := func() (*state, error) {
		s, err := foldTo(ctx, p.DB, st.at, st.lanes)
		for _, e := range st.flights {
			if err == nil {
				s.apply(e.grantMove(), false)
			}
		}
		return s, err
	}
	s, err := fold()
	if missing(err) {
		p.lose(replay.Missing)
		return nil
	}
	if err != nil {
		return err
	}
	s.targets, p.targets = targetsOf(v, st.targets), nil
	s.adopt(v, 0, nil)
	p.state, p.number = s, st.number
	p.lanes = pastLanes{db: p.DB, of: map[laneID]*pastLane{}}
	for id, seq := range st.lanes {
		p.lanes.of[id] = &pastLane{seq: seq}
	}
	if p.Site != nil {
		if s, err = fold(); err != nil {
			return err
		}
		p.rival = newRival(s, *p.Site, p.queues)
	}
	for number, pick := range p.picks {
		if number <= p.number {
			p.leave(pick)
			delete(p.picks, number)
		}
	}
	maps.DeleteFunc(p.backs, func(number int64, _ entry) bool { return number <= p.number })
	p.meter.Begin(later(st.at, p.Since))
	for _, e := range st.rest {
		if err := p.follow(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// version is the site of an entry, with the plans and the states of queues that were in force.
func (p *past) version(ctx context.Context, e entry) (v shares.Version, err error) {
	v, ok := p.versions[e.ref]
	if !ok {
		if v, err = p.Version(ctx, e.ref); err != nil {
			return v, err
		}
		p.versions[e.ref] = v
	}
	return inForce(v, e, p.queues), nil
}

// targetsOf are the target slots of a version, of its entries.
func targetsOf(v shares.Version, entries []entry) (list []targetRow) {
	for _, e := range entries {
		r := targetRow{ShareID: shares.ShareID(e.share), Slots: int(e.amount)}
		if e.shape > 0 {
			r.Class = job.Classes[e.shape-1]
		}
		for _, q := range v.Queues {
			if q.ID == shares.QueueID(e.queue) {
				r.Queue = q.Name
				list = append(list, r)
			}
		}
	}
	return list
}

// follow counts an entry.
func (p *past) follow(ctx context.Context, e entry) error {
	p.measure(e.at)
	key := windowKey{shares.ShareID(e.share), e.shape}
	switch e.word {
	case wordSeen:
		return p.saw(ctx, e)
	case wordBack:
		p.takeBack(e)
	case wordBacklog:
		if err := p.state.knowShapes(ctx, p.DB, []move{{Shape: e.shape}}); err != nil {
			return err
		}
		p.state.setBacklog(key, e.amount)
		p.rival.setBacklog(key, e.amount)
	case wordQueue:
		p.queues[shares.QueueID(e.queue)] = queueStates[e.amount]
	case wordTarget:
		p.targets = append(p.targets, e)
	case wordVersion:
		v, err := p.version(ctx, e)
		if err != nil {
			p.lose(replay.NoVersion)
			return nil
		}
		p.state.targets, p.targets = targetsOf(v, p.targets), nil
		p.state.adopt(v, 0, nil)
		p.rival.adopt(p.queues, e)
		clear(p.kinds)
	case wordKind:
		delete(p.kinds, e.ref)
	case wordFits:
		p.kind(e.ref).shapes[e.shape] = true
	case wordContend:
		if node, ok := p.state.version.Tree.ByID(key.share); ok {
			p.anyPool().Contend(&p.kind(e.ref).leaves, node, e.amount == 1)
		}
	case wordLast, wordLag:
		p.standing(e)
	}
	return nil
}

// standing sets what a share stands by in its pool, beside what it holds.
func (p *past) standing(e entry) {
	q := p.state.queues[shares.QueueID(e.queue)]
	node, ok := p.state.version.Tree.ByID(shares.ShareID(e.share))
	switch {
	case q == nil || !ok:
	case e.word == wordLast:
		m := move{Share: shares.ShareID(e.share), Queue: shares.QueueID(e.queue)}
		was, now := p.state.granted(m), p.rival.granted(m)
		if e.ref > 0 {
			p.undo[e.ref] = func() { was(); now() }
		}
	default:
		q.pool.book.SetLag(node, math.Float64frombits(uint64(e.amount)))
	}
}

// saw counts the rows of a lane up to the entry's. Of the daemon's own lanes of grants it is this one row: those before it
// are counted at their numbers.
func (p *past) saw(ctx context.Context, e entry) error {
	id := laneID{e.ref, int(e.shape)}
	if id.Daemon == p.pages.daemon && id.Lane < firstEndLane {
		p.lanes.of[id] = &pastLane{seq: e.amount - 1}
	}
	err := p.lanes.upTo(ctx, id, e.amount, func(moves []move) error {
		if err := p.state.knowShapes(ctx, p.DB, moves); err != nil {
			return err
		}
		if err := p.rival.know(ctx, p.DB, moves); err != nil {
			return err
		}
		for _, m := range moves {
			p.state.apply(m, false)
			p.rival.apply(m)
		}
		return nil
	})
	if missing(err) {
		p.lose(replay.Missing)
		return nil
	}
	return err
}

// takeBack undoes a grant.
func (p *past) takeBack(e entry) {
	delete(p.backs, e.ref)
	m := e.grantMove()
	m.Before, m.After = isLeased, isReady
	p.state.apply(m, false)
	p.rival.apply(m)
	if undo := p.undo[e.ref]; undo != nil {
		undo()
		delete(p.undo, e.ref)
	}
}

// grantMove is the move of the grant that an entry is about.
func (e entry) grantMove() move {
	return move{Share: shares.ShareID(e.share), Shape: e.shape, Queue: shares.QueueID(e.queue), Before: isReady, After: isLeased, N: 1,
		Units: shares.Units(e.amount)}
}

func (p *past) kind(no int64) *pastKind {
	k := p.kinds[no]
	if k == nil {
		k = &pastKind{shapes: map[int32]bool{}}
		p.kinds[no] = k
	}
	return k
}

// anyPool is one of the present pools: contenders are the same in all of them.
func (p *past) anyPool() *shares.Pool {
	for _, pool := range p.state.pools {
		return pool.book
	}
	return nil
}
