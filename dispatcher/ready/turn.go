package ready

import (
	"cmp"

	"github.com/divvyhq/divvy/shares"
)

// Stand is a position in the ready order of a share.
type Stand struct{ Place, ID int64 }

// Before says whether a comes first.
func (a Stand) Before(b Stand) bool { return a.Place < b.Place || a.Place == b.Place && a.ID < b.ID }

// Turn is a place in the order of a leaf: whoever holds less is first, then who was served longer ago, then the one whose
// first job is. Where a leaf gives no turns nobody holds anything in this sense, nor was served.
type Turn struct {
	Held   shares.Units
	Served uint64
	Stand
}

// Compare goes by what is held and who was served, whatever the first jobs are.
func (a Turn) Compare(b Turn) int {
	return cmp.Or(cmp.Compare(a.Held, b.Held), cmp.Compare(a.Served, b.Served))
}

// Before says whether a comes first.
func (a Turn) Before(b Turn) bool {
	c := a.Compare(b)
	return c < 0 || c == 0 && a.Stand.Before(b.Stand)
}
