package machine

import (
	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// shortage is what keeps a job back of the resources that it asks for. The zero one is none.
type shortage struct {
	by    *gate.Supply // supplies.Unknown: the site does not have the resource
	why   resource.Refusal
	units int64
}

func (no shortage) stands() bool { return no.by != nil }

// short says which resource keeps the jobs of a buffer from a queue: all are taken together or none is.
func (r *round) short(b *buffer) (no shortage) {
	if b.shape.asks == nil {
		return no
	}
	if b.shape.unknown {
		return shortage{by: r.supplies.Unknown}
	}
	bundle := r.supplies.bundle(b, r.queue)
	if b.asked == 0 || r.supplies.polledFor(b, 1) == 0 {
		bundle.Want(max(1, b.asked)) // a slot with labels of its own: it wants this one
	}
	ok, why := bundle.Admits(r.supplies.Moment)
	if ok {
		return no
	}
	for i := range b.shape.asks {
		a := &b.shape.asks[i]
		sup := r.supplies.at(a, r.queue)
		if len(b.shape.asks) > 1 {
			sup.Ease() // the jobs want nothing of the others as long as one keeps them back
		}
		if sup.Book.Name() == why.Resource {
			sup.Refused(why, a.Units)
			no = shortage{by: sup, why: why, units: a.Units}
		}
	}
	return no
}

// first is the buffer of the heads with the job that comes first of those that resources admit. What they do not admit goes
// out of the way.
func (r *round) first(h *heads) *buffer {
	for h.in.Any() {
		l := h.in.Peek()
		b := l.in.Peek()
		no := r.short(b)
		if !no.stands() {
			return b
		}
		r.passOver(l, b, no)
	}
	return nil
}

// passOver puts a buffer that resources keep back out of the way: with its whole lot where that has no better chance.
func (r *round) passOver(l *lot, b *buffer, no shortage) {
	if no.by.Whole(no.why) {
		l.out = no.by
		no.by.PutOut(l)
		l.since = r.supplies.grantsOf(l, l.since[:0])
	} else {
		key := no.by.KeyOf(no.why, no.units)
		l.in.Drop(b)
		l.parked[b] = parkedAt{no.by, key}
		no.by.Keep(key, parkedPlace{l, b})
	}
	r.kinds.placeLot(l)
}

// grantsOf are how often the supplies of what a lot asks for were granted from.
func (sp *supplies) grantsOf(l *lot, since []uint64) []uint64 {
	for i := range l.asks {
		n := uint64(0)
		if sup := sp.at(&l.asks[i], l.heads.queue); sup != nil {
			n = sup.Grants
		}
		since = append(since, n)
	}
	return since
}

// Needs is how many units each job of the lot needs; see gate.Lot.
func (l *lot) Needs(ref string) int64 {
	for i := range l.asks {
		if l.asks[i].Ref == ref {
			return l.asks[i].Units
		}
	}
	return 0
}

// Passed says whether so many grants went by that the lot may get a reservation: it is asked again for that.
func (l *lot) Passed() bool {
	for i := range l.asks {
		if sup := l.heads.kinds.state.supplies.at(&l.asks[i], l.heads.queue); sup != nil && sup.Grants-l.since[i] >= uint64(max(1, sup.Of.MaxBypass)) {
			return true
		}
	}
	return false
}

// LetIn has the lot asked again.
func (l *lot) LetIn() {
	l.out = nil
	l.heads.kinds.placeLot(l)
}

// parkedPlace is a buffer that is parked in a lot.
type parkedPlace struct {
	lot    *lot
	buffer *buffer
}

// Booked says whether a reservation is for it.
func (p parkedPlace) Booked() (is bool) {
	for _, b := range p.buffer.bundles {
		_, booked := b.Booked()
		is = is || booked
	}
	return is
}

// LetGo has it give jobs again.
func (p parkedPlace) LetGo() {
	delete(p.lot.parked, p.buffer)
	if p.buffer.opened {
		p.lot.in.Set(p.buffer, p.lot.heads.turn(p.buffer))
	}
	p.lot.heads.kinds.placeLot(p.lot)
}

// tookUnits notes that a grant took units: its IDs are the last in turn now.
func (sp *supplies) tookUnits(b *buffer, q *books.Queue) {
	if b.shape.asks == nil || b.shape.unknown {
		return
	}
	sp.bundle(b, q).Granted()
	for i := range b.shape.asks {
		a := &b.shape.asks[i]
		sup := sp.at(a, q)
		sup.Grants++
		sup.Moved(sp.SharingID(a.Of, b.shape.payer(), b.Key().Share))
		sup.Ease() // an odd unit may be somebody else's by now
	}
}

// poll follows that pilots pull at a queue from now on, or do so no more: what jobs want that it could run counts, or not.
func (sp *supplies) poll(e entry.Polled) {
	s := sp.state
	if s.polled[e.Queue] == e.Is {
		return
	}
	if s.polled[e.Queue] = e.Is; !e.Is {
		delete(s.polled, e.Queue)
	}
	q := s.site.Queues[e.Queue]
	if q == nil {
		return
	}
	d := 1
	if !e.Is {
		d = -1
	}
	for _, o := range s.words.at[q.Pos] {
		o.polled += d
		if len(o.shapes) == 0 {
			continue
		}
		for _, b := range o.buffers {
			sp.pollFor(b, q, e.Is)
		}
	}
	for _, o := range s.words.guestsAt[q.Pos] {
		o.polled += d
		for _, sh := range o.shapes {
			for _, b := range sh.own {
				if b.leaf >= 0 {
					sp.pollFor(b, q, e.Is)
				}
			}
		}
	}
}

// pollFor brings up to date what one buffer wants at a queue at which pilots pull, or no more.
func (sp *supplies) pollFor(b *buffer, q *books.Queue, is bool) {
	switch sh := b.shape; {
	case sh.asks == nil || sh.unknown || !q.Policy.Admits(b.leaf):
	case sh.byQueue && !sp.hasOwn(q):
		sp.bundle(b, nil).Want(0)
		sp.tellWanted(b, false)
	case sh.byQueue && is:
		sp.tellWantedAt(b, q, false)
	case sh.byQueue:
		sp.bundle(b, q).Want(0)
	case sp.polledFor(b, 1) == 0:
		sp.bundle(b, nil).Want(0)
	case is && sp.polledFor(b, 2) == 1:
		sp.tellWantedAt(b, nil, false)
	}
}
