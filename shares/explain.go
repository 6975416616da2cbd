package shares

// Standing is how one share stood in a decision. Target and Deficit, target − held, are in thousandths.
type Standing struct {
	Node    int     `json:"node"`
	Path    string  `json:"path"`
	Target  float64 `json:"target"`
	Held    Units   `json:"held"`
	Deficit float64 `json:"deficit"`
}

// Level is one step of the walk: who won among the siblings with a job for the slot, and who came next.
type Level struct {
	Winner   Standing  `json:"winner"`
	RunnerUp *Standing `json:"runner_up,omitempty"`
	Asked    int       `json:"asked" doc:"Siblings with a job for the slot."`
	Skipped  int       `json:"skipped" doc:"Siblings without one."`
}

// Decision is the whole of a pick, from the level below the root down to the leaf.
type Decision struct {
	R         Units   `json:"r"`
	Candidate int     `json:"candidate"` // index into cands
	Levels    []Level `json:"levels"`
}

// Explain takes the same walk as Pick, with a record of every level. It allocates.
func (p *Pool) Explain(r Units, cands []Candidate) (d Decision, ok bool) {
	if len(cands) == 0 {
		return Decision{}, false
	}
	d.R = r
	in := p.gather(cands).in
	p.got[0] = p.root(r)
	seat := int32(0)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = p.neediest(f, in, -1)
		level := Level{Winner: p.standing(seat)}
		for c := f.lo; c < f.hi; c++ {
			if in[c] > 0 {
				level.Asked++
			}
		}
		level.Skipped = int(f.hi-f.lo) - level.Asked
		if level.Asked > 1 {
			second := p.standing(p.neediest(f, in, seat))
			level.RunnerUp = &second
		}
		d.Levels = append(d.Levels, level)
	}
	d.Candidate = int(p.cand[seat])
	return d, true
}

func (p *Pool) standing(seat int32) Standing {
	node := int(p.nodeOf[seat])
	return Standing{Node: node, Path: p.tree.Nodes[node].Path, Target: p.got[seat], Held: p.held[seat],
		Deficit: p.short(seat)}
}
