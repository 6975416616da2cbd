package shares

import (
	"math"
	"slices"
)

// limits is what lending and borrowing up to a limit adds to the solver. A tree where everybody lends and borrows
// all has none of it, and pays nothing for it.
//
// Two things have to be known of the whole tree before a family can be filled. What survey finds follows from the
// demand alone: how much of what a branch owns serves its own demand, and what it then has to give. What portion
// finds depends on C too: the quota of a share is what it owns and its part of the pool, and it may hold as much
// beyond that as it may borrow. All by seat, in thousandths.
type limits struct {
	lend, borrow []float64
	depth        []int32
	within       []int32 // depth of lend_to: lent units stay below that ancestor; 0 is anywhere
	levels       int     // 1 + the deepest within

	use  []float64 // step 1: what its own units serve, through lending inside too
	give []float64 // owned units that it hands on to its siblings, idle and within lend
	asks []float64 // of the pool: what min is short of use, see floors
	kept []float64 // owned units that are idle and may not leave, though no share inside can use them

	quota []float64 // owned + part
	part  []float64 // of the pool
	more  []float64 // the most that it may hold beyond its quota

	at     Units   // C of the last portion
	of     uint64  // and the demand that it was made for
	rest   float64 // C beyond the target of the root: idle or not in use yet, which the pool of the root may be short of
	inside []sums  // scratch of survey
	spare  []float64
}

// sums are figures of the children of a seat.
type sums struct{ use, want, borrow, give, asks float64 }

// newLimits is nil if no share in the pool has a limit.
func newLimits(p *Pool) *limits {
	l := limitsOf(p)
	for seat := range l.lend {
		if !math.IsInf(l.lend[seat], 1) || !math.IsInf(l.borrow[seat], 1) || l.within[seat] > 0 {
			return l
		}
	}
	return nil
}

// limitsOf is the limits of a pool, be there any or not.
func limitsOf(p *Pool) *limits {
	n := len(p.nodeOf)
	column := func() []float64 { return make([]float64, n) }
	l := &limits{lend: column(), borrow: column(), depth: make([]int32, n), within: make([]int32, n), levels: 1,
		use: column(), give: column(), asks: column(), kept: column(), quota: column(), part: column(), more: column(),
		inside: make([]sums, n), at: -1}
	for seat := range n {
		node := &p.tree.Nodes[p.nodeOf[seat]]
		l.depth[seat] = int32(node.Depth)
		l.lend[seat], l.borrow[seat] = limitOf(node.Plan.Lend, p.name), limitOf(node.Plan.Borrow, p.name)
		if to, ok := p.tree.ByPath(node.Plan.LendTo); ok && node.Plan.LendTo != "" {
			l.within[seat] = int32(p.tree.Nodes[to].Depth)
			l.levels = max(l.levels, int(l.within[seat])+1)
		}
	}
	l.spare = make([]float64, n*l.levels)
	return l
}

func limitOf(l Limit, pool string) float64 {
	if u := l.In(pool); u < Unlimited {
		return float64(u)
	}
	return math.Inf(1)
}

// solve prepares the fills of a solve at R = r. Quotas are those of the whole capacity, as they are for Admits: what a
// share may borrow does not depend on how much of the pool is in use. Where no capacity is known, r is all that there is.
func (l *limits) solve(s *solver, r Units) {
	all := r
	if c := s.pool.loans.capacity; c < Unlimited {
		all = max(r, c)
	}
	if of := s.pool.loans.demanded(); l.at != all || l.of != of {
		l.survey(s)
		l.portion(s, float64(all), false)
		l.at, l.of = all, of
	}
	l.rest = float64(all - min(r, s.pool.demand[0]))
}

// survey goes from the leaves to the root.
func (l *limits) survey(s *solver) {
	clear(l.inside)
	clear(l.spare)
	for seat := len(l.use) - 1; seat >= 0; seat-- {
		spare := l.spare[seat*l.levels:][:l.levels]
		var borrow float64
		if k := s.pool.kids[seat]; k >= 0 {
			borrow = l.surveyFamily(s, &s.families[k], seat, spare)
		} else {
			d := float64(s.pool.demand[seat])
			l.use[seat] = min(d, s.owned[seat])
			spare[0] = s.owned[seat] - l.use[seat]
			borrow = d - l.use[seat]
		}
		if k := int(l.depth[seat]); k > 0 && k < len(spare) {
			spare[k] = 0 // lend_to names this share: not for others
		}
		l.kept[seat] = s.owned[seat] - l.use[seat]
		for _, u := range spare {
			l.kept[seat] -= u
		}
		l.give[seat] = l.handOn(seat, spare)
		l.asks[seat] = l.asked(s, int32(seat))
		if up := s.pool.parent[seat]; up >= 0 {
			for d, u := range spare {
				l.spare[int(up)*l.levels+d] += u
			}
			want := float64(s.pool.demand[seat]) - l.use[seat]
			in := &l.inside[up]
			in.use += l.use[seat]
			in.want += want
			in.borrow += min(l.borrow[seat], borrow, want)
			in.give += l.give[seat]
			in.asks += l.asks[seat]
		}
	}
}

// surveyFamily finds out what a branch's own units serve: what its children own, what idle children lend to
// those that may borrow, and what the branch owns beyond its children. Units whose way up is the shortest are
// used first; spare becomes what is left, by how far up it may go. borrow is what the demand that is left may
// borrow from outside.
func (l *limits) surveyFamily(s *solver, f *family, seat int, spare []float64) (borrow float64) {
	in := &l.inside[seat]
	d := float64(s.pool.demand[seat])
	extra := s.owned[seat] - f.owned
	lendable := min(in.give, in.borrow)
	moved := min(in.want, lendable+extra, max(0, d-in.use))
	lent := min(lendable, moved)
	l.use[seat] = min(d, in.use+moved)
	left := lent
	for k := len(spare) - 1; k > 0; k-- {
		u := min(spare[k], left)
		spare[k] -= u
		left -= u
	}
	spare[0] = max(0, spare[0]+extra-(moved-(lent-left)))
	return max(0, in.borrow-lent)
}

// handOn turns what a seat has to spare into what it hands on to its parent's family: no more than lend, and units
// that may go further up first.
func (l *limits) handOn(seat int, spare []float64) (sum float64) {
	to := int(l.within[seat])
	for k := range to {
		spare[to] += spare[k]
		spare[k] = 0
	}
	for k := range spare {
		spare[k] = min(spare[k], l.lend[seat]-sum)
		sum += spare[k]
	}
	return sum
}

// portion makes the quotas at C = c from the root down, and then from the leaves up how much each may hold beyond.
// In whole units they are apportioned level by level, so that no unit is lost between shares that may not borrow.
func (l *limits) portion(s *solver, c float64, inUnits bool) {
	l.quota[0] = c
	for seat := range l.quota {
		if k := s.pool.kids[seat]; k >= 0 {
			l.portionFamily(s, &s.families[k], l.quota[seat], inUnits)
		}
	}
	for seat := len(l.more) - 1; seat > 0; seat-- {
		beyond := 0.0
		if k := s.pool.kids[seat]; k < 0 {
			beyond = max(0, float64(s.pool.demand[seat])-l.quota[seat])
		} else {
			f := &s.families[k]
			for c := f.lo; c < f.hi; c++ {
				beyond += l.more[c]
			}
			beyond -= min(l.inside[seat].give, beyond)
		}
		l.more[seat] = min(l.borrow[seat], beyond)
	}
}

// short says whether there is less than is owned below a seat. One may have been given as much as it owns, and yet not
// what it owns: a part of the pool above, which is not for its idle owners.
func (l *limits) short(s *solver, seat int32) bool {
	return l.quota[seat] < s.owned[seat]+l.part[seat]-Tolerance
}

// portionFamily makes the quotas of a family out of its parent's.
func (l *limits) portionFamily(s *solver, f *family, quota float64, inUnits bool) {
	up := s.pool.parent[f.lo]
	if l.short(s, up) {
		l.portionShort(s, f, quota, inUnits)
		return
	}
	under := float64(s.pool.demand[up]) - l.inside[up].use // a max may leave less than is owned
	l.fillPart(s, f, max(0, min(quota-f.owned, under)), inUnits)
	for c := f.lo; c < f.hi; c++ {
		l.quota[c] = s.owned[c] + l.part[c]
	}
}

// portionShort makes the quotas of a family that has less than what it owns. What serves demand goes first, as in the
// fills: what children own, then what their parent owns beyond them and its part of the pool. Idle owners get what is left.
func (l *limits) portionShort(s *solver, f *family, quota float64, inUnits bool) {
	up := s.pool.parent[f.lo]
	left := quota - l.fillUse(s, f, quota)
	copy(l.quota[f.lo:f.hi], s.add[f.lo:f.hi])
	under := float64(s.pool.demand[up]) - l.inside[up].use
	l.fillPart(s, f, max(0, min(left, s.owned[up]+l.part[up]-f.owned, under)), false)
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = 0, s.owned[c]-l.quota[c]
		l.quota[c] += l.part[c]
		left -= l.part[c]
	}
	s.pour(f.classes, stepLent, max(0, left))
	for c := f.lo; c < f.hi; c++ {
		l.quota[c] += s.add[c]
	}
	if inUnits {
		s.wholeParts(l.quota[f.lo:f.hi], quota)
	}
}

// asked is what a seat asks of the pool for min, where its own units serve what survey found.
func (l *limits) asked(s *solver, seat int32) float64 {
	if s.floors == nil {
		return 0
	}
	return float64(s.floors.asked(seat, s.pool.demand[seat], Units(l.use[seat]), Units(l.inside[seat].asks)))
}

// fillPart is step 2 for the quotas.
func (l *limits) fillPart(s *solver, f *family, free float64, inUnits bool) {
	floors := 0.0
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = l.asks[c], float64(s.pool.demand[c])-l.use[c]
		floors += s.low[c]
	}
	total := s.pourFloors(f, stepPart, free, floors)
	copy(l.part[f.lo:f.hi], s.add[f.lo:f.hi])
	if inUnits {
		s.wholeParts(l.part[f.lo:f.hi], total)
	}
}

func (s *solver) wholeParts(parts []float64, total float64) {
	s.units = slices.Grow(s.units[:0], len(parts))[:len(parts)]
	clear(s.units)
	s.apportion(s.units, parts, whole(total), byNeed)
	for i, u := range s.units {
		parts[i] = float64(u) * 1000
	}
}

func (l *limits) fillUse(s *solver, f *family, r float64) (given float64) {
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = 0, l.use[c]
	}
	return s.pour(f.classes, stepOwn, r)
}

// fillLimited is fill where lending and borrowing have limits. The pool of a family is what the steps above gave
// to its parent, with what is kept idle on purpose and without what its children own.
func (s *solver) fillLimited(f *family, r float64) {
	l, up := s.limits, s.pool.parent[f.lo]
	idle := l.kept[up]
	if up == 0 {
		idle = l.rest
	}
	given := l.fillUse(s, f, r)
	copy(s.own[f.lo:f.hi], s.add[f.lo:f.hi])
	copy(s.got[f.lo:f.hi], s.add[f.lo:f.hi])
	beyond := r + idle - f.owned
	if l.short(s, up) { // what is missing is missed by idle owners, not by the pool
		beyond = max(beyond, l.parts(f))
	}
	if free := min(r-given, beyond); free > 0 {
		floors := 0.0
		for c := f.lo; c < f.hi; c++ {
			s.top[c] = s.beyondOwn(c)
			s.low[c] = min(s.top[c], l.asks[c])
			floors += s.low[c]
		}
		given += s.pourFloors(f, stepPool, free, floors)
		for c := f.lo; c < f.hi; c++ {
			s.got[c] += s.add[c]
		}
	}
	if left := r - given; left > 0 {
		for c := f.lo; c < f.hi; c++ {
			s.low[c], s.top[c] = 0, max(0, s.own[c]+s.beyondOwn(c)-s.got[c])
		}
		s.pour(f.classes, stepLent, min(left, l.inside[up].give))
		for c := f.lo; c < f.hi; c++ {
			s.got[c] += s.add[c]
		}
	}
}

// parts are what the quotas give the children of the pool.
func (l *limits) parts(f *family) (sum float64) {
	for c := f.lo; c < f.hi; c++ {
		sum += l.part[c]
	}
	return sum
}

// beyondOwn is the most that a seat may get beyond step 1.
func (s *solver) beyondOwn(c int32) float64 {
	return max(0, min(float64(s.pool.demand[c])-s.own[c], s.limits.part[c]+s.limits.more[c]))
}
