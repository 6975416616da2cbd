package shares

// Pick says which candidate a pull gets, solved at R = r (see Round), as an index into cands; false if there
// is none. From the root it goes to the child with a candidate in or below it and the largest target − held
// until it stands at a leaf. Ties, within Tolerance: longest since the last grant, then the order of the file.
// It changes nothing: the caller tells by Hold, SetWant and Granted what came of it.
//
// Call it only while held(root) < C, and leave out candidates that Admits refuses. Of two candidates with
// the same leaf the first counts. Only the families along the walk are solved: O(depth × fanout log fanout).
func (p *Pool) Pick(r Units, cands []Candidate) (i int, ok bool) {
	switch len(cands) {
	case 0:
		return 0, false
	case 1:
		return 0, true
	}
	p.begin(r, cands)
	seat := int32(0)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = p.neediest(f, -1)
	}
	return int(p.cand[seat]), true
}

// begin sets the root's target and stamps the leaves of the candidates and all that is above them.
func (p *Pool) begin(r Units, cands []Candidate) {
	p.got[0] = float64(min(max(r, 0), p.demand[0]))
	p.round++
	for i, c := range cands {
		s := p.seatOf[c.Leaf]
		if p.mark[s] == p.round {
			continue
		}
		p.cand[s] = int32(i)
		for ; s >= 0 && p.mark[s] != p.round; s = p.parent[s] {
			p.mark[s] = p.round
		}
	}
}

// neediest is the marked child, other than except, that is furthest below its target. There must be one.
func (p *Pool) neediest(f *family, except int32) int32 {
	most := 0.0
	best := int32(-1)
	for c := f.lo; c < f.hi; c++ {
		if p.mark[c] != p.round || c == except {
			continue
		}
		if d := p.got[c] - float64(p.held[c]); best < 0 || d > most {
			best, most = c, d
		}
	}
	for c := f.lo; c < f.hi; c++ {
		if p.mark[c] != p.round || c == except || p.got[c]-float64(p.held[c]) < most-Tolerance {
			continue
		}
		if p.last[c] < p.last[best] || p.last[c] == p.last[best] && c < best {
			best = c
		}
	}
	return best
}
