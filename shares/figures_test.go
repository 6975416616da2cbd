package shares

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestFiguresAddUp: in every family what is lent is borrowed, nobody lends more than it has idle or may lend, and
// nobody borrows more than it holds beyond what it owns.
func TestFiguresAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		figures := p.Figures(Units(rapid.Int64Range(0, 300).Draw(t, "capacity")) * 1000)
		for i, n := range p.tree.Nodes {
			lent, borrowed := 0.0, 0.0
			for _, c := range n.Children {
				lent += figures[c].Lent
				borrowed += figures[c].Borrowed
			}
			if math.Abs(lent-borrowed) > Tolerance {
				t.Fatalf("below %q %v are lent and %v borrowed", n.Path, lent, borrowed)
			}
			f, owned := figures[i], p.owned[p.seatOf[i]]
			if f.Owned != Units(owned) || f.Own != min(p.Held(i), f.Owned) {
				t.Fatalf("%q: own %v of %v held and %v owned", n.Path, f.Own, p.Held(i), owned)
			}
			if f.Lent < 0 || f.Lent > min(owned-float64(f.Own), limitOf(n.Plan.Lend, p.name))+Tolerance {
				t.Fatalf("%q lends %v, owns %v, uses %v", n.Path, f.Lent, owned, f.Own)
			}
			if f.Borrowed < 0 || f.Borrowed > float64(p.Held(i)-f.Own)+Tolerance {
				t.Fatalf("%q borrows %v, holds %v, %v of that its own", n.Path, f.Borrowed, p.Held(i), f.Own)
			}
		}
	})
}
