package shares

import (
	"cmp"
	"math"
	"slices"
)

// Slots is Targets in whole units, by index into Tree.Nodes, for showing: the pick works on exact targets.
// Level by level the whole units of a node are split over its children, solved at that whole number, by the
// quota method of Balinski and Young: no child gets less than its target rounded down or more than its target
// rounded up, whatever is left over goes to whom it serves best, never by the largest remainder.
//
// The children of a node add up to it, unless limits of lending keep units idle on purpose.
//
// The targets move with the demands, so there are no fixed populations whose seats could be dealt out one by
// one from the first; the method starts at the lower quotas, which every quota method grants anyway.
// Its criterion is Webster's, target/(units + ½), as in Balinski and Young's Quotatone Apportionment Methods
// (Mathematics of Operations Research 4, 1979). Jefferson's, target/(units + 1), of their first paper
// (American Mathematical Monthly 82, 1975) favours large shares: in P3 it gives Ana 709 and Test 141 at the root.
func (p *Pool) Slots(r Units) []int64 {
	house := make([]int64, len(p.nodeOf)) // by seat
	house[0] = whole(p.root(r))
	out := make([]int64, len(p.nodeOf))
	for seat := range p.nodeOf {
		out[p.nodeOf[seat]] = house[seat]
		if k := p.kids[seat]; k >= 0 {
			f := &p.families[k]
			p.fill(f, float64(house[seat])*1000)
			p.apportion(house[f.lo:f.hi], p.got[f.lo:f.hi], house[seat])
		}
	}
	return out
}

// whole is thousandths as whole units, rounded down, but not for want of a Tolerance.
func whole(milli float64) int64 { return int64(math.Floor((milli + Tolerance) / 1000)) }

// fraction is a child whose target is more than whole units: it may get one of those that are left when all are rounded down.
type fraction struct {
	child int
	need  float64
}

// apportion splits total whole units by targets in thousandths.
func (s *solver) apportion(units []int64, targets []float64, total int64) {
	fractions := s.fractions[:0]
	sum, floors := 0.0, int64(0)
	for i, t := range targets {
		units[i] = whole(t)
		sum += t
		floors += units[i]
		if part := t - float64(units[i])*1000; part > Tolerance {
			fractions = append(fractions, fraction{i, t / (float64(units[i]) + 0.5)})
		}
	}
	if sum < float64(total-1)*1000+Tolerance { // idle on purpose
		total = whole(sum)
	}
	slices.SortStableFunc(fractions, func(a, b fraction) int { return cmp.Compare(b.need, a.need) })
	for _, c := range fractions[:max(0, min(int(total-floors), len(fractions)))] {
		units[c.child]++
	}
	s.fractions = fractions
}
