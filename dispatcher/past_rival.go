package dispatcher

import (
	"context"
	"slices"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// rival is the standing that there would be under another site: every slot that was given away is given again, to
// whom that site's tree says. Its job takes the place of the recorded one: it holds the slot until that one ends, and is
// charged the same units. Among leases that are alike the one that began first ends first.
type rival struct {
	state *state
	site  shares.Version
	fed   map[heldKey][]stint // who has the slots that were given to the key, oldest first
}

// stint is a number of slots in a row that went to the same.
type stint struct {
	to heldKey // zero share: nobody had a job for the slot
	n  int64
}

// newRival begins with what was held and ready.
func newRival(s *state, site shares.Version, queues map[shares.QueueID]shares.QueueState) *rival {
	r := &rival{state: s, site: site, fed: map[heldKey][]stint{}}
	for _, of := range s.held {
		for key, h := range of {
			r.fed[key] = []stint{{key, h.jobs}}
		}
	}
	s.adopt(inForce(site, entry{}, queues), 0, nil)
	return r
}

// inForce is a site with the plans of the moment of an entry, and queues in the states that they were in.
func inForce(v shares.Version, e entry, queues map[shares.QueueID]shares.QueueState) shares.Version {
	if e.amount != 0 {
		v.Tree = v.Tree.At(microTime(e.amount))
	}
	v.Queues = slices.Clone(v.Queues)
	for i := range v.Queues {
		if state, ok := queues[v.Queues[i].ID]; ok {
			v.Queues[i].State = state
		}
	}
	return v
}

// adopt follows a change of the site that is in force: its queues' states and the hour of the plans act here too.
func (r *rival) adopt(queues map[shares.QueueID]shares.QueueState, e entry) {
	if r != nil {
		r.state.adopt(inForce(r.site, e, queues), 0, nil)
	}
}

func (r *rival) know(ctx context.Context, db querier, moves []move) error {
	if r == nil {
		return nil
	}
	return r.state.knowShapes(ctx, db, moves)
}

func (r *rival) setBacklog(key windowKey, n int64) {
	if r != nil {
		r.state.setBacklog(key, n)
	}
}

// apply counts a move: what ends there ends here for whoever has the slot.
func (r *rival) apply(m move) {
	if r == nil {
		return
	}
	key := heldKey{m.Share, m.Shape, m.Queue}
	switch {
	case m.Before == isLeased && m.After != isLeased:
		each := m.Units / shares.Units(max(1, m.N))
		for _, s := range r.take(key, int64(m.N)) {
			if s.to.share == 0 {
				continue // the job is still to be given
			}
			end := m
			end.Share, end.Shape, end.Queue, end.N, end.Units = s.to.share, s.to.shape, s.to.queue, int32(s.n), each*shares.Units(s.n)
			r.state.apply(end, false)
		}
	default:
		r.state.apply(m, false)
		if m.After == isLeased && m.Before != isLeased {
			r.feed(key, stint{key, int64(m.N)})
		}
	}
}

// grant counts a grant that is to be taken back again, as it was.
func (r *rival) grant(m move) (undo func()) {
	if r == nil {
		return func() {}
	}
	r.apply(m)
	return r.state.granted(m)
}

// granted puts a share last in the order of grants, as a stand says.
func (r *rival) granted(m move) (undo func()) {
	if r == nil {
		return func() {}
	}
	return r.state.granted(m)
}

// feed notes who has slots of a key.
func (r *rival) feed(key heldKey, s stint) {
	if list := r.fed[key]; len(list) > 0 && list[len(list)-1].to == s.to {
		list[len(list)-1].n += s.n
		return
	}
	r.fed[key] = append(r.fed[key], s)
}

// take is who had the n oldest slots of a key.
func (r *rival) take(key heldKey, n int64) (list []stint) {
	of := r.fed[key]
	for len(of) > 0 && n > 0 {
		s := of[0]
		s.n = min(s.n, n)
		n -= s.n
		list = append(list, s)
		if of[0].n -= s.n; of[0].n == 0 {
			of = of[1:]
		}
	}
	if r.fed[key] = of; len(of) == 0 {
		delete(r.fed, key)
	}
	return list
}

// decide gives the slot of a pick to whom the other tree says, among the leaves with a job that fits.
func (r *rival) decide(pick pastPick, kind *pastKind, p *past) {
	r.state.settle()
	q := r.state.queues[pick.Queue]
	if q == nil {
		r.feedNobody(pick)
		p.score.Lacks(pick.Decision, p.List)
		return
	}
	of := r.contenders(q, pick, kind)
	if r.claims(q, of, pick, kind) {
		p.score.Leave(replay.Claimed, 1)
		r.grant(pick.move())
		return
	}
	leaf := p.score.Again(q.pool.book, of, pick.Decision, p.List)
	if leaf < 0 {
		r.feedNobody(pick)
		return
	}
	p.meter.Start(q.pool.book, leaf, true)
	shape := r.shapeFor(leaf, pick, kind)
	to := heldKey{r.state.version.Tree.Nodes[leaf].ID, shape, pick.Queue}
	r.state.apply(move{Share: to.share, Shape: shape, Queue: pick.Queue, Before: isReady, After: isLeased, N: 1, Units: pick.Units}, false)
	q.pool.book.Granted(leaf)
	r.feed(heldKey{pick.Share, pick.shape, pick.Queue}, stint{to, 1})
}

// claims says whether a job that holds claims got the slot, or would get it now: then what happened stands.
func (r *rival) claims(q *queue, of *shares.Contenders, pick pastPick, kind *pastKind) bool {
	has := func(shape int32) bool { sh := r.state.shapes[shape]; return sh != nil && sh.need.Claims != nil }
	if has(pick.shape) {
		return true
	}
	c, ok := q.pool.book.Contest(pick.Round, of)
	return ok && has(r.shapeFor(c.Winner, pick, kind))
}

func (r *rival) feedNobody(pick pastPick) {
	r.feed(heldKey{pick.Share, pick.shape, pick.Queue}, stint{heldKey{}, 1})
}

// contenders are the leaves with a ready job of a shape that the kind of slot fits, and which their limits admit.
func (r *rival) contenders(q *queue, pick pastPick, kind *pastKind) *shares.Contenders {
	var of shares.Contenders
	for id := range kind.shapes {
		sh := r.state.shapes[id]
		if sh == nil {
			continue
		}
		for _, w := range sh.windows {
			if w.ready > 0 && w.leaf >= 0 {
				if _, ok := q.pool.book.Admits(w.leaf, pick.Units); ok {
					q.pool.book.Contend(&of, w.leaf, true)
				}
			}
		}
	}
	return &of
}

// shapeFor is the shape of the job that the leaf gives: the recorded one if it can, so that nothing changes where the
// answer is the same.
func (r *rival) shapeFor(leaf int, pick pastPick, kind *pastKind) (shape int32) {
	fits := map[*outline]bool{}
	for id := range kind.shapes {
		if sh := r.state.shapes[id]; sh != nil {
			fits[sh.outline] = true
		}
	}
	for _, w := range r.state.leaves[leaf].windows {
		switch {
		case w.ready <= 0 || !fits[w.shape.outline]:
		case w.key.shape == pick.shape:
			return w.key.shape
		case shape == 0 || w.key.shape < shape:
			shape = w.key.shape
		}
	}
	return shape
}
