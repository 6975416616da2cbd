package web

import (
	"strconv"

	"github.com/divvyhq/divvy/shares"
)

// slab is a share in the icicle: as wide as its target is of all targets beside it. The script does the same again
// when figures change (src/icicle.ts).
type slab struct {
	ID           shares.ShareID
	Name, Path   string
	X, Width     string // percent
	Y            int
	Target, Held float64
	Class        string // by held of target

	x, width float64
}

const (
	slabHeight   = 28
	narrowest    = 0.1 // percent; what is less is not drawn
	deepestSlabs = 12
)

// Slabs draw the shares of the pool.
func (s SharesPool) Slabs() []slab {
	rows := s.Rows()
	under := map[shares.ShareID]float64{} // sum of targets by parent, or the parent's own if that is more
	for _, r := range rows {
		under[r.Parent] += r.Target
	}
	for _, r := range rows {
		under[r.ID] = max(under[r.ID], r.Target)
	}
	at := map[shares.ShareID]slab{0: {width: 100}}
	filled := map[shares.ShareID]float64{}
	var all []slab
	for _, r := range rows {
		above, there := at[r.Parent]
		if !there || under[r.Parent] <= 0 || r.Level > deepestSlabs {
			continue
		}
		width := above.width * r.Target / under[r.Parent]
		if width < narrowest {
			continue
		}
		b := slab{ID: r.ID, Name: shareName(r.Path), Path: r.Path, Y: (r.Level - 1) * slabHeight, Target: r.Target, Held: r.Held,
			x: above.x + filled[r.Parent], width: width, Class: heldClass(r.Held, r.Target)}
		filled[r.Parent] += width
		b.X, b.Width = strconv.FormatFloat(b.x, 'f', 3, 64), strconv.FormatFloat(b.width, 'f', 3, 64)
		at[r.ID] = b
		all = append(all, b)
	}
	return all
}

// Height of the icicle in pixels.
func (s SharesPool) Height() int {
	deepest := 0
	for _, b := range s.Slabs() {
		deepest = max(deepest, b.Y+slabHeight)
	}
	return deepest
}

// heldClass is h0 to h10 for tenths of the target that are held, over for more than a tenth too much.
func heldClass(held, target float64) string {
	if target <= 0 || held > 1.1*target {
		return "over"
	}
	return "h" + strconv.Itoa(int(min(10, 10*held/target)))
}
