package shares

// Pool is the mutable standing of all shares in one resource group: what they hold and what they could use.
// For one goroutine at a time. SetWant, Hold, Granted and Admits do not allocate, nor does Choose.
//
// Inside, nodes are numbered breadth first, so that siblings lie side by side: such a number is called a seat.
type Pool struct {
	tree *Tree
	name string

	seatOf []int32 // node → seat
	nodeOf []int32 // seat → node
	parent []int32 // seat → seat; -1 for the root
	kids   []int32 // seat → index into families; -1 for a leaf

	held   []Units
	want   []Units // leaves only
	demand []Units // min(max, held + want), min(max, Σ demand of the children)
	sum    []Units // demand before max
	cap    []Units // max; Unlimited if none

	last []uint64 // sequence number of the last grant in or below
	seq  uint64

	loans *loans // nil if all shares lend and borrow everything
	solver
}

// NewPool is the standing of an idle tree in the named pool: nothing held, nothing wanted.
func NewPool(t *Tree, pool string) *Pool {
	n := len(t.Nodes)
	p := &Pool{tree: t, name: pool,
		seatOf: make([]int32, n), nodeOf: make([]int32, 0, n), parent: make([]int32, n), kids: make([]int32, n),
		held: make([]Units, n), want: make([]Units, n), demand: make([]Units, n), sum: make([]Units, n), cap: make([]Units, n),
		last: make([]uint64, n)}
	p.parent[0] = -1
	p.nodeOf = append(p.nodeOf, 0)
	for seat := 0; seat < n; seat++ {
		node := &t.Nodes[p.nodeOf[seat]]
		p.cap[seat] = Unlimited
		if u, ok := node.Plan.Max.In(pool); ok {
			p.cap[seat] = u
		}
		for _, c := range node.Children {
			p.seatOf[c] = int32(len(p.nodeOf))
			p.parent[len(p.nodeOf)] = int32(seat)
			p.nodeOf = append(p.nodeOf, int32(c))
		}
	}
	p.solver = newSolver(p)
	p.floors = newFloors(p)
	if p.limits = newLimits(p); p.limits != nil {
		p.loans = newLoans(p)
	}
	if p.memory = newMemory(p); p.memory != nil {
		p.wish = make([]float64, n)
	}
	for k := range p.families {
		p.families[k].special = p.limits != nil || p.families[k].remembers
	}
	return p
}

// Tree is the tree that the pool stands on.
func (p *Pool) Tree() *Tree { return p.tree }

// Name is the pool's name.
func (p *Pool) Name() string { return p.name }

// Held is what a node holds.
func (p *Pool) Held(node int) Units { return p.held[p.seatOf[node]] }

// Demand is what a node holds and could use beyond that, at most its max.
func (p *Pool) Demand(node int) Units { return p.demand[p.seatOf[node]] }

// Want is what a leaf could use beyond what it holds.
func (p *Pool) Want(leaf int) Units { return p.want[p.seatOf[leaf]] }

// SetWant says what a leaf could use beyond what it holds: ready units and units not generated yet, bounded
// by the slots of the queues that could run them. Negative counts as 0, more than MaxAmount as MaxAmount.
// O(depth).
func (p *Pool) SetWant(leaf int, w Units) {
	s := p.seatOf[leaf]
	w = min(max(w, 0), MaxAmount)
	d := w - p.want[s]
	p.want[s] = w
	p.addDemand(s, d)
	if p.loans != nil {
		p.loans.note(s)
	}
}

// Hold adds du, which may be negative, to what a leaf and its ancestors hold. It is no grant. O(depth).
func (p *Pool) Hold(leaf int, du Units) {
	s := p.seatOf[leaf]
	for a := s; a >= 0; a = p.parent[a] {
		p.held[a] += du
	}
	p.addDemand(s, du)
	if p.loans != nil {
		p.loans.held(s, du)
	}
}

// Granted notes that a leaf was just given a job: among equals it is now the last in turn. O(depth).
func (p *Pool) Granted(leaf int) {
	p.seq++
	for a := p.seatOf[leaf]; a >= 0; a = p.parent[a] {
		p.last[a] = p.seq
	}
}

// Round is the R of a pull: what the pool holds with the units that this pull offers, at most its capacity.
// Nothing may be granted while held ≥ capacity (P13): do not Choose then.
func Round(capacity, held, offered Units) Units { return min(capacity, held+offered) }

func (p *Pool) addDemand(s int32, d Units) {
	leaf := s
	for ; d != 0 && s >= 0; s = p.parent[s] {
		p.sum[s] += d
		was := p.demand[s]
		p.demand[s] = min(p.cap[s], p.sum[s])
		d = p.demand[s] - was
	}
	if p.floors != nil && s != leaf {
		p.floors.carry(leaf)
	}
}
