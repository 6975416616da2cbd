package gate

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Head is ready jobs that stand in Heads as one. Values that are equal are the same.
type Head interface {
	Opened() bool // it has a job to give
	Needs() *Wants
}

// Heads are buffers whose jobs ask for resources or name users, as one queue sees them or all do: in lots that ask for the same, and in
// the order of what each would give first. A decision looks at the first. A lot whose units are used up goes out as a whole, a
// buffer whose sharing ID has what is its part is parked alone; both cost nothing from then on, until that resource eases.
type Heads struct {
	Supplies *Supplies
	Queue    *shares.Queue         // at that queue alone, where resources are per queue; nil: at all
	Turn     func(Head) ready.Turn // of a buffer that has a job to give
	Changed  func()                // called when the first head comes, and when the last one goes; may be nil

	lots map[string]*lot
	in   ready.Turns[*lot, ready.Turn]
}

// lot is the buffers of heads that ask for the same units of the same resources.
type lot struct {
	heads  *Heads
	asked  *Asked
	in     ready.Turns[Head, ready.Turn]
	parked map[Head]parkedAt
	out    *Supply // that has no units for any of them; nil: it is in

	supplies []*Supply // of what it asks for, those that the site has
	since    []uint64  // their grants when it went out
}

// parkedAt is what a parked buffer waits for.
type parkedAt struct {
	by  *Supply
	key WaiterKey
}

// Any says whether there is a head.
func (h *Heads) Any() bool { return h.in.Any() }

// Rank brings the place of a buffer up to date after its jobs have changed.
func (h *Heads) Rank(b Head) {
	l := h.lot(b.Needs().Asked)
	if at, is := l.parked[b]; is {
		if !b.Opened() {
			at.by.Release(at.key, parkedJobs{l, b})
			delete(l.parked, b)
		}
		return
	}
	if b.Opened() {
		l.in.Set(b, h.Turn(b))
	} else {
		l.in.Drop(b)
	}
	h.place(l)
}

// lot finds or makes the one for what is asked.
func (h *Heads) lot(a *Asked) *lot {
	l := h.lots[a.Lot]
	if l == nil {
		if h.lots == nil {
			h.lots = map[string]*lot{}
		}
		l = &lot{heads: h, asked: a, parked: map[Head]parkedAt{}}
		for i := range a.List {
			if sup := h.Supplies.At(&a.List[i], h.Queue); sup != nil {
				l.supplies = append(l.supplies, sup)
			}
		}
		l.since = make([]uint64, len(l.supplies))
		h.lots[a.Lot] = l
	}
	return l
}

// place puts a lot at its place among the others: that of its first buffer.
func (h *Heads) place(l *lot) {
	had := h.in.Any()
	if first, ok := l.in.First(); ok && l.out == nil {
		h.in.Set(l, first)
	} else {
		h.in.Drop(l)
	}
	if had != h.in.Any() && h.Changed != nil {
		h.Changed()
	}
}

// First is the buffer with the job that comes first of those that resources admit, as short says. What they do not admit goes out of
// the way. ok is false when none is left.
func (h *Heads) First(short func(Head) Shortage) (first Head, ok bool) {
	for h.in.Any() {
		l := h.in.Peek()
		b := l.in.Peek()
		no := short(b)
		if !no.Stands() {
			return b, true
		}
		l.passOver(b, no)
	}
	return first, false
}

// passOver puts a buffer that resources keep back out of the way: with its whole lot where that has no better chance.
func (l *lot) passOver(b Head, no Shortage) {
	sup, id := no.By, no.Why.ID
	if sup.Book == nil || no.Why.Rule == resource.Capacity || no.Why.Rule == resource.External { // the same for all that ask for as much
		if l.out = sup; sup.waits.lots == nil {
			sup.waits.lots = map[*lot]struct{}{}
		}
		sup.waits.lots[l] = struct{}{}
		for i, sup := range l.supplies {
			l.since[i] = sup.Grants
		}
	} else {
		key := WaiterKey{waiterKind{no.Units, slices.Contains(sup.Of.Exempt, id)}, id}
		l.in.Drop(b)
		l.parked[b] = parkedAt{sup, key}
		sup.Keep(key, parkedJobs{l, b})
	}
	l.heads.place(l)
}

// KeptBack is what keeps buffers back; zero if nothing does.
func (h *Heads) KeptBack() (first Refusal) {
	for _, l := range h.lots {
		if l.out != nil && l.in.Any() {
			return l.out.Why
		}
		for _, at := range l.parked {
			first = at.by.Why
		}
	}
	return first
}

// needs is how many units of a resource each job of the lot needs.
func (l *lot) needs(ref string) int64 {
	for _, a := range l.asked.List {
		if a.Ref == ref {
			return a.Units
		}
	}
	return 0
}

// passed says whether so many grants went by since the lot was put out that it may get a reservation: it is asked again for that.
func (l *lot) passed() bool {
	for i, sup := range l.supplies {
		if sup.Grants-l.since[i] >= uint64(max(1, sup.Of.MaxBypass)) {
			return true
		}
	}
	return false
}

// letIn has the lot asked again.
func (l *lot) letIn() {
	l.out = nil
	l.heads.place(l)
}

// parkedJobs are those of a buffer that is parked in a lot.
type parkedJobs struct {
	lot    *lot
	buffer Head
}

// letGo has it give jobs again.
func (p parkedJobs) letGo() {
	delete(p.lot.parked, p.buffer)
	if p.buffer.Opened() {
		p.lot.in.Set(p.buffer, p.lot.heads.Turn(p.buffer))
	}
	p.lot.heads.place(p.lot)
}
