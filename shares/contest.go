package shares

// Contest is a pick beside the one that would have been made without its leaf.
//
// The two walks go the same way down to the level where they part: above it the winner's branch has another
// candidate, so that it wins all the same. Both deficits, target − held in thousandths before the grant, are
// those that Pick compares there: of the child that leads to the winner, and of the one that leads to the
// runner-up. Without a runner-up nothing was compared, and Deficit is that of the winner's own leaf.
type Contest struct {
	Winner          int     // index into cands
	Deficit         float64 // of the winner's side
	RunnerUp        int     // index into cands; -1 when no other leaf has a candidate
	RunnerUpDeficit float64
}

// Contest takes the walk of Pick and names the runner-up as well; false if there is no candidate. It costs
// about as much as two Picks, allocates nothing and changes nothing.
func (p *Pool) Contest(r Units, cands []Candidate) (c Contest, ok bool) {
	if len(cands) == 0 {
		return Contest{}, false
	}
	p.begin(r, cands)
	seat, ahead, second := int32(0), int32(0), int32(-1)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = p.neediest(f, -1)
		// The deepest level with somebody else is where the walks part.
		if other := p.neediest(f, seat); other >= 0 {
			ahead, second = seat, other
		}
	}
	c = Contest{Winner: int(p.cand[seat]), Deficit: p.short(seat), RunnerUp: -1}
	if second < 0 {
		return c, true
	}
	c.Deficit, c.RunnerUpDeficit = p.short(ahead), p.short(second)
	for p.kids[second] >= 0 {
		f := &p.families[p.kids[second]]
		p.fill(f, p.got[second])
		second = p.neediest(f, -1)
	}
	c.RunnerUp = int(p.cand[second])
	return c, true
}

// short is how far a seat of a family that was filled is below its target, in thousandths.
func (p *Pool) short(seat int32) float64 { return p.got[seat] - float64(p.held[seat]) }
