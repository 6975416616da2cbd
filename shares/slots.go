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
func (p *Pool) Slots(r Units) []int64 { return p.SlotsBy(r, byNeed) }

// Odd is a node that one of the whole units may go to that are left when all siblings have their targets rounded down.
type Odd struct {
	Node  int     // index into Tree.Nodes
	Units int64   // its target rounded down
	Need  float64 // Webster's criterion: target/(units + ½), in thousandths
}

// byNeed is the order of the quota method.
func byNeed(a, b Odd) int { return cmp.Compare(b.Need, a.Need) }

// SlotsBy is Slots where the units that are left over go to siblings in another order: negative if a comes before b. What
// it calls equal goes in the order of the file. Every order keeps to the quota.
func (p *Pool) SlotsBy(r Units, order func(a, b Odd) int) []int64 {
	house := make([]int64, len(p.nodeOf)) // by seat
	house[0] = whole(p.root(r))
	out := make([]int64, len(p.nodeOf))
	for seat := range p.nodeOf {
		out[p.nodeOf[seat]] = house[seat]
		if k := p.kids[seat]; k >= 0 {
			f := &p.families[k]
			p.fill(f, float64(house[seat])*1000)
			p.apportion(house[f.lo:f.hi], p.got[f.lo:f.hi], house[seat], func(a, b Odd) int {
				a.Node, b.Node = int(p.nodeOf[int(f.lo)+a.Node]), int(p.nodeOf[int(f.lo)+b.Node])
				return order(a, b)
			})
		}
	}
	return out
}

// whole is thousandths as whole units, rounded down, but not for want of a Tolerance.
func whole(milli float64) int64 { return int64(math.Floor((milli + Tolerance) / 1000)) }

// apportion splits total whole units by targets in thousandths. Node of an Odd is an index into targets here.
func (s *solver) apportion(units []int64, targets []float64, total int64, order func(a, b Odd) int) {
	odd := s.odd[:0]
	sum, floors := 0.0, int64(0)
	for i, t := range targets {
		units[i] = whole(t)
		sum += t
		floors += units[i]
		if part := t - float64(units[i])*1000; part > Tolerance {
			odd = append(odd, Odd{i, units[i], t / (float64(units[i]) + 0.5)})
		}
	}
	if sum < float64(total-1)*1000+Tolerance { // idle on purpose
		total = whole(sum)
	}
	slices.SortFunc(odd, func(a, b Odd) int {
		if by := order(a, b); by != 0 {
			return by
		}
		return cmp.Compare(a.Node, b.Node)
	})
	for _, o := range odd[:max(0, min(int(total-floors), len(odd)))] {
		units[o.Node]++
	}
	s.odd = odd
}
