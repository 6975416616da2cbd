package shares

// Contenders are the leaves of a pool that have a job for one kind of slot. They are kept from pick to pick: a pick
// then costs the families along its walk, however many leaves there are. The zero value has none, on any pool of the
// same tree.
type Contenders struct {
	in    []int32 // by seat: contenders in or below
	nLeaf int
}

// Len is how many leaves contend.
func (c *Contenders) Len() int { return c.nLeaf }

// Set says whether a leaf is one of the contenders from now on. O(depth).
func (c *Contenders) Set(p *Pool, leaf int, is bool) {
	if c.in == nil {
		c.in = make([]int32, len(p.parent))
	}
	s := p.seatOf[leaf]
	if is == (c.in[s] > 0) {
		return
	}
	by := int32(1)
	if !is {
		by = -1
	}
	c.nLeaf += int(by)
	for ; s >= 0; s = p.parent[s] {
		c.in[s] += by
	}
}

// Has says whether a leaf is one of the contenders.
func (c *Contenders) Has(p *Pool, leaf int) bool { return c.nLeaf > 0 && c.in[p.seatOf[leaf]] > 0 }

// Choose says which contender a pull gets, solved at R = r (see Round); false if there is none. From the root it goes
// to the child with a contender in or below it and the largest target − held until it stands at a leaf. Ties, within
// Tolerance: longest since the last grant, then the order of the file. It changes nothing: the caller tells by Hold,
// SetWant and Granted what came of it.
//
// Call it only while held(root) < C, and keep leaves whose job Admits refuses out of the contenders. Only the
// families along the walk are solved: O(depth × fanout log fanout).
func (c *Contenders) Choose(p *Pool, r Units) (leaf int, ok bool) {
	if c.nLeaf == 0 {
		return 0, false
	}
	p.got[0] = p.root(r)
	seat := int32(0)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = c.neediest(p, f, -1)
	}
	return int(p.nodeOf[seat]), true
}

// root is the target of the root, with which every solve at R = r begins.
func (p *Pool) root(r Units) float64 {
	r = max(r, 0)
	if p.limits != nil {
		p.limits.solve(&p.solver, r)
	}
	return float64(min(r, p.demand[0]))
}

// neediest is the child with contenders, other than except, that is furthest below its target; -1 if there is none.
func (c *Contenders) neediest(p *Pool, f *family, except int32) int32 {
	most := 0.0
	best := int32(-1)
	for s := f.lo; s < f.hi; s++ {
		if c.in[s] == 0 || s == except {
			continue
		}
		if d := p.short(s); best < 0 || d > most {
			best, most = s, d
		}
	}
	for s := f.lo; s < f.hi; s++ {
		if c.in[s] == 0 || s == except || p.short(s) < most-Tolerance {
			continue
		}
		if p.last[s] < p.last[best] || p.last[s] == p.last[best] && s < best {
			best = s
		}
	}
	return best
}

// short is how far a seat of a family that was filled is below its target, in thousandths.
func (p *Pool) short(seat int32) float64 { return p.got[seat] - float64(p.held[seat]) }
