package shares

// Copy is a pool of its own that stands as this one does.
func (p *Pool) Copy() *Pool {
	c := NewPool(p.tree, p.name)
	for _, leaf := range p.tree.Leaves() {
		if held := p.Held(leaf); held != 0 {
			c.Hold(leaf, held)
		}
		if want := p.Want(leaf); want != 0 {
			c.SetWant(leaf, want)
		}
	}
	copy(c.last, p.last)
	c.seq = p.seq
	if p.memory != nil {
		copy(c.memory.lag, p.memory.lag)
	}
	if p.loans != nil {
		c.SetCapacity(p.loans.capacity)
	}
	return c
}

// Candidate is a leaf with a job to be made, and what that job would charge.
type Candidate struct {
	Leaf  int // index into Tree.Nodes
	Units Units
}

// Order says in which order the leaves would each get a first job, if pulls came one after another from now on; it names at most
// so many. The leaf that is furthest below its target comes first; then that job counts as held, and the next leaf is found in the
// same way. Work that is not made yet is to be made in this order. The pool holds afterwards what was given so, and wants as much
// less: take a Copy.
func (p *Pool) Order(capacity Units, of []Candidate, most int) (leaves []int) {
	var left Contenders
	var offered Units
	units := make(map[int]Units, len(of))
	for _, c := range of {
		left.Set(p, c.Leaf, true)
		units[c.Leaf], offered = c.Units, max(offered, c.Units)
	}
	for len(leaves) < most {
		leaf, ok := left.Choose(p, Round(capacity, p.Held(0), offered))
		if !ok {
			break
		}
		left.Set(p, leaf, false)
		p.SetWant(leaf, p.Want(leaf)-units[leaf])
		p.Hold(leaf, units[leaf])
		leaves = append(leaves, leaf)
	}
	return leaves
}
