package shares

import "slices"

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

// Contest takes the walk of Choose and names the runner-up as well; false if no leaf contends. It costs about as
// much as two choices, allocates nothing and changes nothing.
func (c *Contenders) Contest(p *Pool, r Units) (won Contest, ok bool) {
	if c.nLeaf == 0 {
		return Contest{}, false
	}
	p.got[0] = p.root(r)
	seat, ahead, second := int32(0), int32(0), int32(-1)
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = c.neediest(p, f, -1)
		// The deepest level with another contender is where the walks part.
		if other := c.neediest(p, f, seat); other >= 0 {
			ahead, second = seat, other
		}
	}
	won = Contest{Winner: int(p.nodeOf[seat]), Deficit: p.short(seat), RunnerUp: -1}
	if second < 0 {
		return won, true
	}
	won.Deficit, won.RunnerUpDeficit = p.short(ahead), p.short(second)
	won.RunnerUp = c.below(p, second)
	return won, true
}

// Trail appends target − held, in thousandths, of the path to a leaf: from the level below the root down to the leaf itself.
// The leaf is the winner or the runner-up of the last Contest, and nothing was asked or changed since: these are the
// figures that it compared.
func (p *Pool) Trail(leaf int, to []float64) []float64 {
	first := len(to)
	for seat := p.seatOf[leaf]; seat > 0; seat = p.parent[seat] {
		to = append(to, p.short(seat))
	}
	slices.Reverse(to[first:])
	return to
}

// Ahead appends the contenders that stand before the winner of the last Contest, in their order, until there are
// most: those that Choose would give, one after another, if they contended as well. None of them contended then, and
// nothing was changed since. It takes those that it names out.
func (c *Contenders) Ahead(p *Pool, winner int, most int, to []int) []int {
	return c.ahead(p, p.seatOf[winner], most, to)
}

// ahead is Ahead of a seat on the winner's path: first those who stand before the seats above it.
func (c *Contenders) ahead(p *Pool, seat int32, most int, to []int) []int {
	if seat == 0 || c.nLeaf == 0 {
		return to
	}
	to = c.ahead(p, p.parent[seat], most, to)
	f := &p.families[p.kids[p.parent[seat]]]
	for len(to) < most && c.nLeaf > 0 {
		c.in[seat]++ // its side is compared with, whether anybody of them is below it or not
		next := c.neediest(p, f, -1)
		c.in[seat]--
		if next == seat {
			break
		}
		leaf := c.below(p, next)
		c.Set(p, leaf, false)
		to = append(to, leaf)
	}
	return to
}

// below takes the walk of Choose from a seat of a family that was filled.
func (c *Contenders) below(p *Pool, seat int32) (leaf int) {
	for p.kids[seat] >= 0 {
		f := &p.families[p.kids[seat]]
		p.fill(f, p.got[seat])
		seat = c.neediest(p, f, -1)
	}
	return int(p.nodeOf[seat])
}
