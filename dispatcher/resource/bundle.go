package resource

import (
	"cmp"
	"slices"
	"time"
)

// Ask is so many units of one resource.
type Ask struct {
	Pool  *Pool
	ID    string // counted for this ID instead of the bundle's: resources may be split in different ways
	Units int64
}

// Bundle is what a job of one shape needs of resources: all of it or nothing. A dispatcher keeps one for each shape (and
// queue, where a resource is per queue). No pool is asked for twice.
//
// While one of the resources keeps its jobs back they could not use the others: they are not wanted there, so that nothing
// is kept for them, until it asks again. Jobs that need more than there is want nothing at all, until there is as much.
//
// One that is kept back for want of free units, while max_bypass grants took a resource that it needs, books all that it
// needs: for max_hold at most nobody else gets units of these resources unless so many stay free. A pool has one booking
// at a time, so bookings cannot wait for each other. Who has its allowance is not passed over, and books nothing.
type Bundle struct {
	asks  []Ask
	jobs  int64  // that are ready
	out   []bool // by ask: they are not wanted there now
	large bool   // it needs more than there is: all are out

	waits bool
	since []uint64  // the last grant of each pool when it began to wait
	until time.Time // of its bookings; zero without
}

// NewBundle is what jobs of a sharing ID need.
func NewBundle(id string, asks ...Ask) *Bundle {
	asks = slices.Clone(asks)
	for i := range asks {
		asks[i].ID = cmp.Or(asks[i].ID, id)
	}
	return &Bundle{asks: asks, out: make([]bool, len(asks)), since: make([]uint64, len(asks))}
}

// Want says how many jobs are ready that some slot could run. Their units count beside those of Pool.Want: say a job to
// one of them only.
func (b *Bundle) Want(jobs int64) {
	jobs = max(0, jobs)
	b.measure()
	for i, a := range b.asks {
		if !b.out[i] {
			a.Pool.wantMore(a.ID, (jobs-b.jobs)*a.Units)
		}
		if jobs > 0 {
			a.Pool.wanting[b] = struct{}{}
		} else {
			delete(a.Pool.wanting, b)
		}
	}
	b.jobs = jobs
	if jobs == 0 {
		b.Release()
	}
}

// Wanted is how many jobs are ready that some slot could run, as Want was told.
func (b *Bundle) Wanted() int64 { return b.jobs }

// measure follows whether there is as much of everything as a job needs; if not, short is the first that falls short.
func (b *Bundle) measure() (short *Ask) {
	short = b.beyond()
	if large := short != nil; large != b.large {
		b.large = large
		for i := range b.asks {
			b.wanted(i, large)
		}
	}
	return short
}

// wanted takes the jobs in or out of what an ask's ID wants.
func (b *Bundle) wanted(i int, out bool) {
	if a := b.asks[i]; b.out[i] != out {
		b.out[i] = out
		units := b.jobs * a.Units
		if out {
			units = -units
		}
		a.Pool.wantMore(a.ID, units)
	}
}

// beyond is the first need that is more than there is; nil: there is none.
func (b *Bundle) beyond() *Ask {
	for i := range b.asks {
		if a := &b.asks[i]; a.Units > a.Pool.Usable() {
			return a
		}
	}
	return nil
}

// Admits says whether a job may have all that it needs now; if not, why is the first need that is refused.
func (b *Bundle) Admits(now time.Time) (ok bool, why Refusal) {
	if a := b.measure(); a != nil {
		b.Release()
		_, why = a.admits(now, b)
		return false, why
	}
	if _, booked := b.Booked(); booked && !now.Before(b.until) {
		b.Release() // it had its time
	}
	for i := range b.asks {
		b.wanted(i, false)
	}
	nRefused, first, hasPart := 0, 0, true
	for i, a := range b.asks {
		may, no := a.admits(now, b)
		if may {
			continue
		}
		if nRefused++; nRefused == 1 {
			first, why = i, no
		}
		hasPart = hasPart && (no.Rule != OverItsPart)
	}
	if nRefused > 0 {
		b.refused(now, hasPart)
	}
	if _, booked := b.Booked(); nRefused > 0 && !booked {
		for i := range b.asks {
			b.wanted(i, nRefused > 1 || i != first)
		}
	}
	return nRefused == 0, why
}

// refused notes that a job was kept back, for want of free units or because its ID has its part.
func (b *Bundle) refused(now time.Time, freeUnits bool) {
	switch {
	case !freeUnits:
		b.Release()
	case !b.waits:
		b.waits = true
		for i, a := range b.asks {
			b.since[i] = a.Pool.seq
		}
	case b.until.IsZero() && b.passed():
		b.book(now)
	}
}

// passed says whether it was passed over often enough.
func (b *Bundle) passed() bool {
	for i, a := range b.asks {
		if a.Pool.seq-b.since[i] >= uint64(a.Pool.spec.MaxBypass) {
			return true
		}
	}
	return false
}

// book reserves all that it needs, unless another bundle has booked one of the pools.
func (b *Bundle) book(now time.Time) {
	most := b.asks[0].Pool.spec.MaxHold
	for _, a := range b.asks {
		most = min(most, a.Pool.spec.MaxHold)
		if o := a.Pool.booked; o != nil && o != b && now.Before(o.until) {
			return
		}
	}
	b.until = now.Add(most)
	for _, a := range b.asks {
		a.Pool.booked = b
	}
}

// Release ends its bookings and its waiting: its job is not wanted now, or no more.
func (b *Bundle) Release() {
	b.waits, b.until = false, time.Time{}
	for _, a := range b.asks {
		if a.Pool.booked == b {
			a.Pool.booked = nil
		}
	}
}

// Booked says until when it has reservations; ok is false without.
func (b *Bundle) Booked() (until time.Time, ok bool) { return b.until, !b.until.IsZero() }

// Granted notes that a job was given all that it needs: Pool.Granted of each, and an end to bookings.
func (b *Bundle) Granted() {
	for _, a := range b.asks {
		a.Pool.Granted(a.ID)
	}
	b.Release()
}

// Explain is Admits for people, see Pool.Explain: it changes nothing.
func (b *Bundle) Explain(now time.Time) (ok bool, why Refusal) {
	if a := b.beyond(); a != nil {
		return a.explain(now, b)
	}
	for i := range b.asks {
		defer b.wanted(i, b.out[i])
		b.wanted(i, false)
	}
	for _, a := range b.asks {
		if ok, why := a.explain(now, b); !ok {
			return false, why
		}
	}
	return true, Refusal{}
}

// keeps is how many units of a pool that it booked a bundle keeps from others, for whom, and until when; nil has booked
// nothing. It keeps none while it could not use them: its ID came to have its part by other jobs.
func (b *Bundle) keeps(p *Pool, from *Bundle, now time.Time) (units int64, id string, until time.Time) {
	if b == nil || b == from || !now.Before(b.until) || b.served(now) {
		return 0, "", time.Time{}
	}
	i := slices.IndexFunc(b.asks, func(a Ask) bool { return a.Pool == p })
	return b.asks[i].Units, b.asks[i].ID, b.until
}

// served says whether an ID has its part of something that the bundle needs. Who holds none of it has not, whoever's turn it is.
func (b *Bundle) served(now time.Time) bool {
	for _, a := range b.asks {
		i, ok := a.Pool.index[a.ID]
		if !ok || a.Pool.members[i].exempt || a.Pool.members[i].held == 0 {
			continue
		}
		if below, _ := a.Pool.split.below(a.Pool, i, now); !below {
			return true
		}
	}
	return false
}
