package resource

import "time"

// Ask is so many units of one resource.
type Ask struct {
	Pool  *Pool
	Units int64
}

// Bundle is what the jobs of one shape need of resources: all of it or nothing. A dispatcher keeps one for each shape (and
// queue, where a resource is per queue).
//
// One that is kept back for want of free units, while max_bypass grants took a resource that it needs, books all that it
// needs: for max_hold at most nobody else gets units of these resources unless so many stay free. A pool has one booking
// at a time, so bookings cannot wait for each other. Who is over its allowance is not passed over: it has no booking.
type Bundle struct {
	id    string
	needs []Ask

	waits bool
	since []uint64  // grants of each pool when it began to wait
	until time.Time // of its bookings; zero without
}

// NewBundle is what jobs of a sharing ID need.
func NewBundle(id string, needs ...Ask) *Bundle {
	return &Bundle{id: id, needs: needs, since: make([]uint64, len(needs))}
}

// Admits says whether a job may have all that it needs now; if not, it is the first need that is refused.
func (b *Bundle) Admits(now time.Time) (ok bool, why Refusal) {
	if !b.until.IsZero() && !now.Before(b.until) {
		b.Release() // it had its time
	}
	ok = true
	for _, n := range b.needs {
		may, no := n.Pool.admits(n.Pool.member(b.id), n.Units, now, b)
		if !may && (ok || no.Rule == OverItsPart) {
			ok, why = false, no
		}
	}
	switch {
	case ok:
	case why.Rule == OverItsPart:
		b.Release()
	case !b.waits:
		b.waits = true
		for i, n := range b.needs {
			b.since[i] = n.Pool.grants
		}
	case b.until.IsZero() && b.passed():
		b.book(now)
	}
	return ok, why
}

// passed says whether it was passed over often enough.
func (b *Bundle) passed() bool {
	for i, n := range b.needs {
		if n.Pool.grants-b.since[i] >= uint64(n.Pool.spec.MaxBypass) {
			return true
		}
	}
	return false
}

// book reserves all that it needs, unless somebody else has booked one of the pools.
func (b *Bundle) book(now time.Time) {
	most := b.needs[0].Pool.spec.MaxHold
	for _, n := range b.needs {
		most = min(most, n.Pool.spec.MaxHold)
		if o := n.Pool.booked; o != nil && o != b && now.Before(o.until) {
			return
		}
	}
	b.until = now.Add(most)
	for _, n := range b.needs {
		n.Pool.booked = b
	}
}

// Release ends its bookings and its waiting: it was granted what it needs, or nobody wants it any more.
func (b *Bundle) Release() {
	b.waits, b.until = false, time.Time{}
	for _, n := range b.needs {
		if n.Pool.booked == b {
			n.Pool.booked = nil
		}
	}
}

// Booked says until when it has reservations; ok is false without.
func (b *Bundle) Booked() (until time.Time, ok bool) { return b.until, !b.until.IsZero() }

// bookedBy is how many units another bundle than by has booked, and until when.
func (p *Pool) bookedBy(by *Bundle, now time.Time) (units int64, until time.Time) {
	if p.booked == nil || p.booked == by || !now.Before(p.booked.until) {
		return 0, time.Time{}
	}
	for _, n := range p.booked.needs {
		if n.Pool == p {
			units += n.Units
		}
	}
	return units, p.booked.until
}
