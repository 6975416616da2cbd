package shares

import "slices"

// Tolerance is the difference in thousandths of a unit below which two computed figures count as equal: far
// above the rounding of float64 on a site of 10^7 units, far below any job.
const Tolerance = 1e-3

// solver holds the constants of fill and its scratch, by seat (see Pool).
type solver struct {
	pool     *Pool
	families []family

	weight []float64 // 1 for weightless children, which share equally
	owned  []float64 // O: max(owned, Σ O of the children)

	got []float64 // what fill gave; right for the children of the last family filled, and for the path of a choice
	own []float64 // of it, by step 1
	low []float64 // of the step at hand: the least that a child gets,
	top []float64 // the most,
	add []float64 // and what it got

	marks  []breakpoint
	odd    []Odd     // scratch of apportion
	units  []int64   // and of wholeParts
	floors *floors   // nil if no share has a min
	limits *limits   // nil if all shares lend and borrow everything
	memory *memory   // nil if no share has a half-life
	wish   []float64 // scratch of shift, by seat
}

// family is the children of one node: seats lo to hi.
type family struct {
	lo, hi    int32
	owned     float64 // Σ O
	plain     bool    // no share owns anything here: steps 1 and 3 are empty
	remembers bool    // a share has a half-life
	special   bool    // that, or the tree has limits
	classes   []class // in the order of filling
	all       []class // weighted children of all tiers together, then the rest: for floors that don't fit
}

// class is a set of siblings that are filled together, by weight.
type class struct {
	seats []int32
	hint  [steps][]int32 // the order of the breakpoints the last time; only speed depends on it
}

// The steps of fill that need a level; each keeps a hint of its own.
const (
	stepOwn = iota
	stepFloor
	stepPool
	stepLent
	stepPart  // of the quotas, see limits
	stepShift // see memory
	steps
)

func newSolver(p *Pool) solver {
	n := len(p.nodeOf)
	column := func() []float64 { return make([]float64, n) }
	s := solver{pool: p, weight: column(), owned: column(),
		got: column(), own: column(), low: column(), top: column(), add: column()}
	widest := 0
	for seat := n - 1; seat >= 0; seat-- { // children before parents: O goes upwards
		plan := &p.tree.Nodes[p.nodeOf[seat]].Plan
		s.weight[seat] = plan.Weight
		if plan.Weight == 0 {
			s.weight[seat] = 1
		}
		owned, _ := plan.Owned.In(p.name)
		s.owned[seat] = max(s.owned[seat], float64(owned)) // Σ O of the children stands there already
		if p.parent[seat] >= 0 {
			s.owned[p.parent[seat]] += s.owned[seat]
		}
	}
	for seat := range n {
		node := p.tree.Nodes[p.nodeOf[seat]]
		p.kids[seat] = -1
		if len(node.Children) == 0 {
			continue
		}
		p.kids[seat] = int32(len(s.families))
		lo := p.seatOf[node.Children[0]]
		s.families = append(s.families, s.family(lo, lo+int32(len(node.Children))))
		widest = max(widest, len(node.Children))
	}
	s.marks = make([]breakpoint, 0, 2*widest)
	return s
}

func (s *solver) family(lo, hi int32) family {
	f := family{lo: lo, hi: hi, plain: true}
	byRank := make(map[[2]int][]int32) // (0 weighted | 1 weightless, tier) → seats
	var ranks [][2]int
	together := make([][]int32, 2)
	for c := lo; c < hi; c++ {
		plan := &s.pool.tree.Nodes[s.pool.nodeOf[c]].Plan
		f.owned += s.owned[c]
		f.plain = f.plain && s.owned[c] == 0
		rank := [2]int{0, plan.Tier}
		if plan.Weight == 0 {
			rank[0] = 1
		}
		if byRank[rank] == nil {
			ranks = append(ranks, rank)
		}
		byRank[rank] = append(byRank[rank], c)
		together[rank[0]] = append(together[rank[0]], c)
	}
	slices.SortFunc(ranks, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, rank := range ranks {
		f.classes = append(f.classes, class{seats: byRank[rank]})
		if rank[0] == 1 {
			f.all = append(f.all, class{seats: byRank[rank]})
		}
	}
	if len(together[0]) > 0 {
		f.all = append([]class{{seats: together[0]}}, f.all...)
	}
	return f
}

// Targets solves the whole tree at R and returns the target of every node, by index into Tree.Nodes, in
// thousandths of a unit. That of the root is min(R, its demand).
func (p *Pool) Targets(r Units) []float64 {
	out := make([]float64, len(p.nodeOf))
	p.got[0] = p.root(r)
	for seat := range p.nodeOf { // breadth first: a node's own target is known before its children are filled
		out[p.nodeOf[seat]] = p.got[seat]
		if k := p.kids[seat]; k >= 0 {
			p.fill(&p.families[k], p.got[seat])
		}
	}
	return out
}

// fill splits r over the children of a node (sharing.md §1) into got, and shifts the parts by what is remembered.
func (s *solver) fill(f *family, r float64) {
	switch {
	case f.special:
		s.split(f, r)
		if f.remembers && !s.memory.off {
			s.shift(f)
		}
	case !s.enough(f, r):
		s.steps(f, r)
	}
}

// split is fill without the shifts, of a special family.
func (s *solver) split(f *family, r float64) {
	if s.limits != nil {
		s.fillLimited(f, r)
	} else if !s.enough(f, r) {
		s.steps(f, r)
	}
}

// steps are those of sharing.md §1 if all shares lend and borrow everything.
func (s *solver) steps(f *family, r float64) {
	if f.plain {
		clear(s.got[f.lo:f.hi])
		s.fillPool(f, r)
		return
	}
	given := s.fillOwn(f, r)
	if free := r - f.owned; free > 0 {
		given += s.fillPool(f, free)
	}
	if r-given > 0 {
		s.fillLent(f, r-given)
	}
}

// enough gives everyone its demand if r covers that.
func (s *solver) enough(f *family, r float64) bool {
	if float64(s.pool.sum[s.pool.parent[f.lo]]) > r {
		return false
	}
	for c := f.lo; c < f.hi; c++ {
		s.got[c] = float64(s.pool.demand[c])
	}
	return true
}

// fillOwn is step 1: every child gets min(D, O), of all tiers; too little for that goes by weight, tier by
// tier, weightless children last.
func (s *solver) fillOwn(f *family, r float64) (given float64) {
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = 0, min(float64(s.pool.demand[c]), s.owned[c])
	}
	given = s.pour(f.classes, stepOwn, r)
	copy(s.own[f.lo:f.hi], s.add[f.lo:f.hi])
	copy(s.got[f.lo:f.hi], s.add[f.lo:f.hi])
	return given
}

// fillPool is step 2: free units go to the demand above step 1, with what min asks as a floor.
func (s *solver) fillPool(f *family, free float64) (given float64) {
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = 0, float64(s.pool.demand[c])-s.own[c]
	}
	floors := s.fillFloors(f)
	given = s.pourFloors(f, stepPool, free, floors)
	for c := f.lo; c < f.hi; c++ {
		s.got[c] += s.add[c]
	}
	return given
}

// fillFloors makes what min asks the low of every child, and returns the sum.
func (s *solver) fillFloors(f *family) (sum float64) {
	if s.floors == nil {
		return 0
	}
	for c := f.lo; c < f.hi; c++ {
		s.low[c] = float64(s.floors.asks[c])
		sum += s.low[c]
	}
	return sum
}

// pourFloors pours between low and top; lows that do not fit into free are filled by weight instead.
func (s *solver) pourFloors(f *family, step int, free, floors float64) (given float64) {
	if floors <= free {
		return s.pour(f.classes, step, free)
	}
	for c := f.lo; c < f.hi; c++ {
		s.top[c], s.low[c] = s.low[c], 0
	}
	return s.pour(f.all, stepFloor, free)
}

// fillLent is step 3: what idle owners leave goes to the demand that is left, in the order of the pool.
func (s *solver) fillLent(f *family, left float64) {
	lent := 0.0
	for c := f.lo; c < f.hi; c++ {
		lent += s.owned[c] - s.own[c]
		s.low[c], s.top[c] = 0, max(0, float64(s.pool.demand[c])-s.got[c])
	}
	s.pour(f.classes, stepLent, min(left, lent))
	for c := f.lo; c < f.hi; c++ {
		s.got[c] += s.add[c]
	}
}

// pour hands out the budget class by class between low and top, into add, and keeps the later classes' lows
// back. The budget must cover the lows.
func (s *solver) pour(classes []class, step int, budget float64) (given float64) {
	later := 0.0
	for i := range classes {
		for _, c := range classes[i].seats {
			later += s.low[c]
		}
	}
	for i := range classes {
		low, top := 0.0, 0.0
		for _, c := range classes[i].seats {
			low += s.low[c]
			top += s.top[c]
		}
		later = max(0, later-low)
		b := budget - given - later
		switch {
		case top <= b:
			for _, c := range classes[i].seats {
				s.add[c] = s.top[c]
			}
			given += top
		case b <= low:
			for _, c := range classes[i].seats {
				s.add[c] = s.low[c]
			}
			given += low
		default:
			s.level(&classes[i], step, b)
			given += b
		}
	}
	return given
}
