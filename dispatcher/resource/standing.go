package resource

// Kept is how many of the free units are kept for IDs below their allowance, since somebody else was refused them.
func (p *Pool) Kept() int64 { return min(p.kept.units, max(0, p.Usable()-p.held)) }
