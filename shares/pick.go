package shares

// Pick is Choose among the leaves of the candidates: it returns an index into cands; false if there is none. Of two
// candidates with the same leaf the first counts. O(candidates × depth) beyond Choose.
func (p *Pool) Pick(r Units, cands []Candidate) (i int, ok bool) {
	switch len(cands) {
	case 0:
		return 0, false
	case 1:
		return 0, true
	}
	leaf, ok := p.Choose(r, p.gather(cands))
	return int(p.cand[p.seatOf[leaf]]), ok
}

// gather makes the leaves of the candidates the contenders of the moment.
func (p *Pool) gather(cands []Candidate) *Contenders {
	c := &p.moment
	for _, leaf := range p.gathered {
		p.Contend(c, leaf, false)
	}
	p.gathered = p.gathered[:0]
	for i := len(cands) - 1; i >= 0; i-- {
		p.Contend(c, cands[i].Leaf, true)
		p.cand[p.seatOf[cands[i].Leaf]] = int32(i)
		p.gathered = append(p.gathered, cands[i].Leaf)
	}
	return c
}
