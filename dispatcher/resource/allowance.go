package resource

import (
	"cmp"
	"slices"
)

// Allowance is what one ID holds, wants and may hold.
type Allowance struct {
	ID        string  `json:"id"`
	Weight    float64 `json:"weight" doc:"Among its siblings."`
	Exempt    bool    `json:"exempt,omitempty" doc:"Only the capacity bounds it."`
	Held      int64   `json:"held"`
	Wanted    int64   `json:"wanted" doc:"Ready units that some slot could run."`
	Allowance int64   `json:"allowance" doc:"What it may hold now."`
	Waited    uint64  `json:"waited" doc:"Grants to others since its last one."`
}

// Allowances lists the IDs that hold or want something, by name.
func (p *Pool) Allowances() []Allowance {
	var out []Allowance
	all, _ := p.allowances()
	for i := range p.members {
		m := &p.members[i]
		if m.idle() {
			continue
		}
		out = append(out, Allowance{ID: m.name, Weight: m.weight, Exempt: m.exempt, Held: m.held, Wanted: m.wanted(),
			Allowance: all[i], Waited: p.seq - m.last})
	}
	slices.SortFunc(out, func(a, b Allowance) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
