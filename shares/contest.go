package shares

// Contest is a choice beside the one that would have been made without its leaf.
//
// The two walks go the same way down to the level where they part: above it the winner's branch has another
// contender, so that it wins all the same. Both deficits, target − held in thousandths before the grant, are
// those that Choose compares there: of the child that leads to the winner, and of the one that leads to the
// runner-up. Without a runner-up nothing was compared, and Deficit is that of the winner's own leaf.
type Contest struct {
	Winner          int     // leaf
	Deficit         float64 // of the winner's side
	RunnerUp        int     // leaf; -1 when no other leaf contends
	RunnerUpDeficit float64
}

// Contest takes the walk of Choose and names the runner-up as well; false if nobody contends. It costs about as
// much as two choices, allocates nothing and changes nothing.
func (p *Pool) Contest(r Units, of *Contenders) (c Contest, ok bool) {
	if of.nLeaf == 0 {
		return Contest{}, false
	}
	p.got[0] = p.root(r)
	seat, ahead, second := int32(0), int32(0), int32(-1)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = p.neediest(f, of.in, -1)
		// The deepest level with somebody else is where the walks part.
		if other := p.neediest(f, of.in, seat); other >= 0 {
			ahead, second = seat, other
		}
	}
	c = Contest{Winner: int(p.nodeOf[seat]), Deficit: p.short(seat), RunnerUp: -1}
	if second < 0 {
		return c, true
	}
	c.Deficit, c.RunnerUpDeficit = p.short(ahead), p.short(second)
	for p.kids[second] >= 0 {
		f := &p.families[p.kids[second]]
		p.fill(f, p.got[second])
		second = p.neediest(f, of.in, -1)
	}
	c.RunnerUp = int(p.nodeOf[second])
	return c, true
}
