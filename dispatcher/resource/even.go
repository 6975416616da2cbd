package resource

import (
	"slices"
	"time"
)

// even splits units evenly, and keeps up with changes in O(log IDs).
//
// With r < Σ D units, whole units by the solver are min(D, q) for everybody and one more for odd of those with D > q, by
// order.level. Those who hold more than q have such an odd unit already; of the rest, who have held ≤ q < D, it is for
// those who waited longest. So a row is made of who is at q and who is below q, both sorted by that, and of all who are
// below min(D, q), sorted as they take their turns. A row is of one q. Those of the last levels are all kept up to date, as
// q may go to and fro between two. A row of another level is made anew, in O(IDs log IDs), but q moves on only when demands
// have changed by as much as there are IDs above it, or the number of units did.
type even struct {
	unseen
	demands order
	rows    [3]row
	turn    uint64 // for the row that was used least lately
	part    int64  // what q, odd and above are for
	q, odd  int64
	above   int64 // members with D > q
	scarce  bool  // part < Σ D
}

type row struct {
	at    order // held = q < D, by last grant
	under order // held < q < D, by last grant
	low   order // held < min(D, q), by held, then by last grant
	level int64
	used  uint64 // 0: never made
}

func newEven() *even { return &even{unseen: unseen{stale: true}, demands: newOrder(nil)} }

// refresh counts what changed.
func (e *even) refresh(p *Pool) {
	for _, i := range e.dirty {
		e.queued[i] = false
		d := p.members[i].demand()
		if p.members[i].exempt {
			d = 0
		}
		if in := e.demands.has(i); d > 0 && !(in && e.demands.nodes[i].key == d) {
			e.stale = true
			e.demands.put(i, d, 0)
		} else if in && d == 0 {
			e.stale = true
			e.demands.drop(i)
		}
		for k := range e.rows {
			if e.rows[k].used > 0 {
				e.rows[k].set(&p.members[i], i)
			}
		}
	}
	e.dirty = e.dirty[:0]
	if part := p.part(); e.stale || part != e.part {
		e.stale, e.part = false, part
		if e.scarce = part < e.demands.total(); e.scarce {
			e.q, e.odd, e.above = e.demands.level(part)
		}
	}
}

// set puts a member where it belongs in the row.
func (r *row) set(m *member, i int32) {
	d, last := m.demand(), int64(m.last)
	wants := !m.exempt && m.held < d
	r.at.keep(i, wants && m.held == r.level, last, 0)
	r.under.keep(i, wants && m.held < r.level && r.level < d, last, 0)
	r.low.keep(i, wants && m.held < r.level, m.held, last)
}

// keep puts a member in, or takes it out.
func (o *order) keep(i int32, in bool, key, then int64) {
	if in {
		o.put(i, key, then)
	} else if o.has(i) {
		o.drop(i)
	}
}

func (e *even) row(p *Pool) *row {
	e.turn++
	oldest := &e.rows[0]
	for k := range e.rows {
		r := &e.rows[k]
		if r.used > 0 && r.level == e.q {
			r.used = e.turn
			return r
		}
		if r.used < oldest.used {
			oldest = r
		}
	}
	*oldest = row{at: newOrder(p.byName), under: newOrder(p.byName), low: newOrder(p.byName), level: e.q, used: e.turn}
	for i := range p.members {
		oldest.set(&p.members[i], int32(i))
	}
	return oldest
}

func (e *even) below(p *Pool, i int32, _ time.Time) (is bool, before int64) {
	e.refresh(p)
	m := &p.members[i]
	d, last := m.demand(), int64(m.last)
	if !e.scarce {
		return m.held < d, 0
	}
	if m.held >= d || m.held > e.q {
		return false, 0
	}
	r := e.row(p)
	if m.held < e.q {
		return true, r.low.ahead(i, m.held, last)
	}
	at := r.at.ahead(i, last, 0)
	left := e.odd - (e.above - r.at.len() - r.under.len()) // odd units that are not held yet
	return at+r.under.ahead(i, last, 0) < left, r.low.len() + at
}

// again and late: it is never behind.
func (e *even) again(*Pool, time.Time) bool { return false }
func (e *even) late(*Pool) (at time.Time)   { return at }

func (e *even) next(*Pool, time.Time) (ids []string, all bool) { return nil, true }

// allowances takes O(IDs log IDs).
func (e *even) allowances(p *Pool, out, floor []int64) {
	e.refresh(p)
	var list []int32
	for i := range p.members {
		m := &p.members[i]
		if d := m.demand(); !m.exempt {
			out[i] = d
			if e.scarce && d > e.q {
				out[i] = e.q
				list = append(list, int32(i))
			}
			floor[i] = out[i]
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		x, y := &p.members[a], &p.members[b]
		if has := x.held > e.q; has != (y.held > e.q) {
			return sign(has)
		}
		return x.compare(y)
	})
	for _, i := range list[:min(int64(len(list)), e.odd)] {
		out[i]++
	}
}

// sign is that of a comparison of different things.
func sign(before bool) int {
	if before {
		return -1
	}
	return 1
}
