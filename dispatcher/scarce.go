package dispatcher

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gateOfRule is the gate at which a rule of a resource keeps a job back.
var gateOfRule = map[resource.Rule]Gate{resource.Capacity: GateResourceCapacity, resource.External: GateResourceExternal,
	resource.Reservation: GateResourceReserved, resource.OverItsPart: GateResourceAllowance}

// gate is the one at which a rule keeps a job back from units of the supply.
func (sup *supply) gate(rule resource.Rule) Gate {
	if sup.of != nil && sup.of.BuiltIn() {
		return GateResourceIO
	}
	return gateOfRule[rule]
}

// shortage is what keeps a job back of the resources that it asks for. The zero one is none.
type shortage struct {
	by    *supply // supplies.unknown: the site does not have the resource
	why   resource.Refusal
	units int64
	limit *limit // that this daemon has not enough escrow under; nil: it is not that
}

func (no shortage) stands() bool { return no.by != nil }

// whole says whether it is the same for all that ask for as many units.
func (no shortage) whole() bool {
	return no.limit != nil || no.why.Rule == resource.Capacity || no.why.Rule == resource.External
}

func (no shortage) need() shares.Units { return shares.Units(no.units) * 1000 }

// short says which resource keeps the jobs of a window from a queue: all are taken together or none is. Allowances are
// asked before escrow, so that nobody takes units from another daemon that it may not use.
func (s *state) short(w *window, q *queue) shortage {
	if w.shape.asks == nil {
		return shortage{}
	}
	if w.shape.unknown {
		return shortage{by: s.supplies.unknown}
	}
	b := s.bundle(w, q)
	if w.asked == 0 || s.pilotsFor(w, 1) == 0 {
		b.Want(max(1, w.asked)) // a slot with labels of its own, or what is ready was not counted yet: it wants this one
	}
	if ok, why := b.Admits(s.moment); !ok {
		return s.refusedBy(w, q, why)
	}
	for i := range w.shape.asks {
		a := &w.shape.asks[i]
		sup := s.supplyAt(a, q)
		if need := shares.Units(a.units) * 1000; sup.limit != nil && sup.limit.balance() < need {
			return shortage{by: sup, units: a.units, limit: sup.limit}
		}
	}
	return shortage{}
}

// refusedBy finds the supply that has refused.
func (s *state) refusedBy(w *window, q *queue, why resource.Refusal) (no shortage) {
	for i := range w.shape.asks {
		a := &w.shape.asks[i]
		sup := s.supplyAt(a, q)
		if len(w.shape.asks) > 1 {
			sup.ease() // the jobs want nothing of the others as long as one keeps them back
		}
		if sup.book.Name() == why.Resource {
			sup.refused(why)
			no = shortage{by: sup, why: why, units: a.units}
		}
	}
	return no
}

// bundle is what the jobs of a window need of the pools at a queue. The shape must not be unknown.
func (s *state) bundle(w *window, q *queue) *resource.Bundle {
	if common := s.windows[w.key]; w.private && common != nil {
		w = common // what is ready is wanted once
	}
	var at shares.QueueID
	if w.shape.byQueue && s.hasOwn(q) {
		at = q.ID
	}
	if b := w.bundles[at]; b != nil {
		return b
	}
	asks := make([]resource.Ask, len(w.shape.asks))
	for i := range w.shape.asks {
		a := &w.shape.asks[i]
		asks[i] = resource.Ask{Pool: s.supplyAt(a, q).book, ID: s.sharingID(a.of, w.shape, w.key.share), Units: a.units}
	}
	if w.bundles == nil {
		w.bundles = map[shares.QueueID]*resource.Bundle{}
	}
	b := resource.NewBundle(w.shape.full.SharingID, asks...)
	w.bundles[at] = b
	return b
}

// releaseBundles ends what is reserved for a window: it has no job any more. Nor does it want one, whatever was thought of a
// job that turned out to be gone.
func (s *state) releaseBundles(w *window) {
	for at, b := range w.bundles {
		if w.asked > 0 {
			b.Release()
			continue
		}
		b.Want(0)
		for i := range w.shape.asks {
			s.supplyAt(&w.shape.asks[i], s.queues[at]).ease()
		}
	}
}

// first is the window of the heads with the job that comes first of those that resources admit. What they do not admit goes
// out of the way. When all that is missing is escrow that may be had, in says so: the decision waits for it.
func (c *contenders) first(h *heads, q *queue, n *needs, in *obstacle) *window {
	s := c.of
	for h.in.any() {
		l := h.in.list[0].what
		w := l.in.list[0].what
		s.sift(w)
		if !w.open() {
			s.check(w)
			continue
		}
		no := s.short(w, q)
		switch {
		case !no.stands():
			return w
		case no.limit != nil && no.limit.mayGive(no.need()):
			n.lack(no.limit, no.need())
			in.meet(no.limit, true)
			s.askAhead(h, q, n)
			return nil
		case no.limit != nil:
			no.by.why = string(no.by.gate(resource.Capacity))
		}
		s.passOver(l, w, no)
	}
	in.scarce = h.keptBack()
	return nil
}

// mostAskedAhead bounds for how many resources escrow is asked beside the one that a decision waits for.
const mostAskedAhead = 16

// askAhead asks for escrow under the limits that the next decisions would wait for, one after the other: a daemon that has
// just started has none of any resource.
func (s *state) askAhead(h *heads, q *queue, n *needs) {
	for _, l := range h.in.list[:min(len(h.in.list), mostAskedAhead)] {
		for i := range l.what.asks {
			a := &l.what.asks[i]
			sup := s.supplyAt(a, q)
			if sup == nil || sup.limit == nil || sup.book.Usable()-sup.book.Held() < a.units {
				continue
			}
			if need := shares.Units(a.units) * 1000; sup.limit.balance() < need && sup.limit.mayGive(need) {
				n.lack(sup.limit, need)
			}
		}
	}
}

// passOver puts a window that resources keep back out of the way: with its whole lot where that has no better chance.
func (s *state) passOver(l *lot, w *window, no shortage) {
	if no.whole() || no.by.book == nil {
		l.out = no.by
		if no.by.waits.lots == nil {
			no.by.waits.lots = map[*lot]struct{}{}
		}
		no.by.waits.lots[l] = struct{}{}
		l.since = s.grantsOf(l, l.since[:0])
	} else {
		key := waiterKey{waiterKind{no.units, slices.Contains(no.by.of.Exempt, no.why.ID)}, no.why.ID}
		l.in.drop(w)
		l.aside[w] = asideFor{no.by, key}
		no.by.keep(key, asidePlace{l, w})
	}
	s.placeLot(l)
}

// grantsOf are how often the supplies of what a lot asks for were granted from.
func (s *state) grantsOf(l *lot, since []uint64) []uint64 {
	for i := range l.asks {
		n := uint64(0)
		if sup := s.supplyAt(&l.asks[i], l.heads.queue); sup != nil {
			n = sup.seq
		}
		since = append(since, n)
	}
	return since
}

// passed says whether so many grants have passed a lot since it went out that it may get a reservation: it is asked again
// for that.
func (s *state) passed(l *lot) bool {
	for i := range l.asks {
		if sup := s.supplyAt(&l.asks[i], l.heads.queue); sup != nil && sup.seq-l.since[i] >= uint64(max(1, sup.of.MaxBypass)) {
			return true
		}
	}
	return false
}

// takenUnits is what a grant has changed in the order of those who wait for resources.
type takenUnits struct {
	bundle *resource.Bundle
	grant  resource.Grant
	turns  []takenTurn
}

// bookUnits notes that a grant took units: its IDs are the last in turn now.
func (s *state) bookUnits(g *grant) {
	sh := g.window.shape
	if sh.asks == nil || sh.unknown {
		return
	}
	g.taken = &takenUnits{bundle: s.bundle(g.window, g.queue)}
	g.taken.grant = g.taken.bundle.Granted()
	for i := range sh.asks {
		a := &sh.asks[i]
		sup := s.supplyAt(a, g.queue)
		id := s.sharingID(a.of, sh, g.window.key.share)
		sup.tookTurn(id)
		g.taken.turns = append(g.taken.turns, takenTurn{sup, id})
	}
}

// giveBack undoes bookUnits.
func (t *takenUnits) giveBack() {
	if t == nil {
		return
	}
	t.bundle.Ungranted(t.grant)
	for _, turn := range t.turns {
		turn.by.moved(turn.id)
		turn.by.ease()
	}
}
