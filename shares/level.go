package shares

import "slices"

// breakpoint is a level λ at which a child's part clamp(λ·weight, low, top) starts or stops to grow.
type breakpoint struct {
	at   float64
	code int32 // seat·2 where it stops, seat·2+1 where it starts
}

// level gives every child of the class clamp(λ·weight, low, top), with the one λ for which the parts sum up to
// b. It needs Σ low < b < Σ top. λ is exact: the sum of the parts is linear in λ between breakpoints.
func (s *solver) level(c *class, step int, b float64) {
	s.sorted(c, step)
	s.settle(c, s.scan(c, b), b)
}

// scan finds a λ in the linear piece in which the parts sum up to b.
func (s *solver) scan(c *class, b float64) float64 {
	var fixed, slope runningSum // the sum of the parts is fixed + λ·slope
	for _, seat := range c.seats {
		if s.low[seat] > 0 {
			fixed.add(s.low[seat])
		} else {
			slope.add(s.weight[seat])
		}
	}
	for _, m := range s.marks {
		if by := slope.value(); by > 0 && fixed.value()+m.at*by >= b {
			return (b - fixed.value()) / by
		}
		seat := m.code >> 1
		if m.code&1 == 1 {
			if s.low[seat] > 0 { // else it grows from the beginning
				fixed.add(-s.low[seat])
				slope.add(s.weight[seat])
			}
		} else {
			fixed.add(s.top[seat])
			slope.add(-s.weight[seat])
		}
	}
	return s.marks[len(s.marks)-1].at
}

// runningSum keeps what rounding takes off it: when the weights 10^6 and 10^-6 have been added and 10^6 has gone again, it is
// 10^-6 again, not a ten-thousandth of it more or less.
type runningSum struct{ sum, rest float64 }

func (r *runningSum) add(x float64) {
	sum := r.sum + x
	part := sum - r.sum
	r.rest += (r.sum - (sum - part)) + (x - part)
	r.sum = sum
}

func (r *runningSum) value() float64 { return r.sum + r.rest }

// settle gives the parts of the piece that holds λ, with sums taken afresh in the order of the children: the order of the
// breakpoints does not reach the result. Who is at its low or top in this piece gets just that. λ as it comes out here must not
// be asked again whether that is so: where little weight still grows, the rounding of b is a large step of λ, and back
// across a breakpoint that would be many units for a child of large weight.
func (s *solver) settle(c *class, lambda, b float64) {
	fixed, slope := 0.0, 0.0
	for _, seat := range c.seats {
		switch grown := lambda * s.weight[seat]; {
		case grown <= s.low[seat]:
			s.add[seat] = s.low[seat]
			fixed += s.low[seat]
		case grown >= s.top[seat]:
			s.add[seat] = s.top[seat]
			fixed += s.top[seat]
		default:
			s.add[seat] = -1 // grows
			slope += s.weight[seat]
		}
	}
	if slope == 0 {
		return
	}
	lambda = (b - fixed) / slope
	for _, seat := range c.seats {
		if s.add[seat] < 0 {
			s.add[seat] = min(max(lambda*s.weight[seat], s.low[seat]), s.top[seat])
		}
	}
}

// sorted lists the breakpoints of a class in ascending order. It starts from the order of the last time,
// which is nearly right, because little changes from one pull to the next.
func (s *solver) sorted(c *class, step int) {
	hint := c.hint[step]
	if hint == nil {
		hint = make([]int32, 0, 2*len(c.seats))
		for _, seat := range c.seats {
			hint = append(hint, seat<<1)
			if (step == stepPool || step == stepPart) && s.floors != nil && s.floors.some[seat] {
				hint = append(hint, seat<<1|1)
			}
		}
		c.hint[step] = hint
	}
	marks := s.marks[:0]
	for _, code := range hint {
		seat := code >> 1
		bound := s.top[seat]
		if code&1 == 1 {
			bound = s.low[seat]
		}
		marks = append(marks, breakpoint{bound / s.weight[seat], code})
	}
	s.marks = marks
	if !insertionSort(marks, 4*len(marks)) {
		slices.SortFunc(marks, func(a, b breakpoint) int {
			if a.at < b.at {
				return -1
			}
			if a.at > b.at {
				return 1
			}
			return 0
		})
	}
	for i, m := range marks {
		hint[i] = m.code
	}
}

// insertionSort sorts what is nearly sorted; it gives up, false, after that many moves.
func insertionSort(marks []breakpoint, moves int) bool {
	for i := 1; i < len(marks); i++ {
		m := marks[i]
		j := i
		for ; j > 0 && marks[j-1].at > m.at; j-- {
			marks[j] = marks[j-1]
			moves--
		}
		marks[j] = m
		if moves < 0 {
			return false
		}
	}
	return true
}
