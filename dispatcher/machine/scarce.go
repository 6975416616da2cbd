package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// shortage is what keeps a job back of the resources that it asks for. The zero one is none.
type shortage struct {
	by    *supply // supplies.unknown: the site does not have the resource
	why   resource.Refusal
	units int64
}

func (no shortage) stands() bool { return no.by != nil }

// whole says whether it is the same for all that ask for as many units.
func (no shortage) whole() bool {
	return no.by.book == nil || no.why.Rule == resource.Capacity || no.why.Rule == resource.External
}

// gate is the one at which a rule keeps a job back from units of the supply.
func (sup *supply) gate(rule resource.Rule) Gate {
	if sup.of != nil && sup.of.BuiltIn() {
		return GateIO
	}
	return gateOfRule[rule]
}

// short says which resource keeps the jobs of a buffer from a queue: all are taken together or none is.
func (r *round) short(b *buffer) (no shortage) {
	if b.shape.asks == nil {
		return no
	}
	if b.shape.unknown {
		return shortage{by: r.supplies.unknown}
	}
	bundle := r.supplies.bundle(b, r.queue)
	if b.asked == 0 || r.supplies.polledFor(b, 1) == 0 {
		bundle.Want(max(1, b.asked)) // a slot with labels of its own: it wants this one
	}
	ok, why := bundle.Admits(r.moment)
	if ok {
		return no
	}
	for i := range b.shape.asks {
		a := &b.shape.asks[i]
		sup := r.supplies.supplyAt(a, r.queue)
		if len(b.shape.asks) > 1 {
			sup.ease() // the jobs want nothing of the others as long as one keeps them back
		}
		if sup.book.Name() == why.Resource {
			sup.refused(why, a.units)
			no = shortage{by: sup, why: why, units: a.units}
		}
	}
	return no
}

// first is the buffer of the heads with the job that comes first of those that resources admit. What they do not admit goes
// out of the way.
func (r *round) first(h *heads) *buffer {
	for h.in.any() {
		l := h.in.list[0].what
		b := l.in.list[0].what
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
	if no.whole() {
		l.out = no.by
		if no.by.waits.lots == nil {
			no.by.waits.lots = map[*lot]struct{}{}
		}
		no.by.waits.lots[l] = struct{}{}
		l.since = r.supplies.grantsOf(l, l.since[:0])
	} else {
		key := waiterKey{waiterKind{no.units, slices.Contains(no.by.of.Exempt, no.why.ID)}, no.why.ID}
		l.in.drop(b)
		l.parked[b] = parkedAt{no.by, key}
		no.by.keep(key, parkedPlace{l, b})
	}
	r.kinds.placeLot(l)
}

// grantsOf are how often the supplies of what a lot asks for were granted from.
func (sp *supplies) grantsOf(l *lot, since []uint64) []uint64 {
	for i := range l.asks {
		n := uint64(0)
		if sup := sp.supplyAt(&l.asks[i], l.heads.queue); sup != nil {
			n = sup.seq
		}
		since = append(since, n)
	}
	return since
}

// passed says whether so many grants have passed a lot since it went out that it may get a reservation: it is asked again
// for that.
func (sp *supplies) passed(l *lot) bool {
	for i := range l.asks {
		if sup := sp.supplyAt(&l.asks[i], l.heads.queue); sup != nil && sup.seq-l.since[i] >= uint64(max(1, sup.of.MaxBypass)) {
			return true
		}
	}
	return false
}

// tookUnits notes that a grant took units: its IDs are the last in turn now.
func (sp *supplies) tookUnits(b *buffer, q *queue) {
	if b.shape.asks == nil || b.shape.unknown {
		return
	}
	sp.bundle(b, q).Granted()
	for i := range b.shape.asks {
		a := &b.shape.asks[i]
		sup := sp.supplyAt(a, q)
		sup.seq++
		sup.moved(sp.sharingID(a.of, b.shape, b.Key().Share))
		sup.ease() // an odd unit may be somebody else's by now
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
	q := s.site.queues[e.Queue]
	if q == nil {
		return
	}
	d := 1
	if !e.Is {
		d = -1
	}
	for _, o := range q.outlines {
		o.polled += d
		if len(o.shapes) == 0 {
			continue
		}
		for _, b := range o.buffers {
			sp.pollFor(b, q, e.Is)
		}
	}
}

// pollFor brings up to date what one buffer wants at a queue at which pilots pull, or no more.
func (sp *supplies) pollFor(b *buffer, q *queue, is bool) {
	switch sh := b.shape; {
	case sh.asks == nil || sh.unknown || !q.policy.admits(b.leaf):
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

// lookAtSupplies has those asked again whose time has come.
func (sp *supplies) lookAtSupplies() {
	s := sp.state
	s.moment = s.now
	for _, key := range sp.keys() {
		sup := sp.by[key]
		if sup.waits.any() && !sup.until.IsZero() && !s.moment.Before(sup.until) {
			sup.until = time.Time{}
			sup.askEverybody()
		}
	}
}

// keys are those of the supplies, in one order.
func (sp *supplies) keys() []supplyKey {
	keys := make([]supplyKey, 0, len(sp.by))
	for key := range sp.by {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b supplyKey) int { return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.queue, b.queue)) })
	return keys
}
