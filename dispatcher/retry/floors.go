package retry

import (
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// Floors are those of the queues of a pool. Nothing below a floor is taken: it would come back at once, and be taken again.
type Floors struct {
	Classes map[int32]string // by shape, see job.Class; may be nil where there are no floors
	List    []Floor
}

// Floor says how many cores jobs of some leaves hold at a queue above those for which they come first.
type Floor struct {
	Queue  shares.QueueID
	Class  string // see job.Class; empty: all
	Leaves []int
	Spare  int64 // cores
}

// copied is for what may be taken, before it is known what is.
func (f Floors) copied() Floors {
	f.List = slices.Clone(f.List)
	return f
}

// spares reports whether an attempt may be taken as far as the floors go.
func (f Floors) spares(tree *shares.Tree, r Running) bool {
	for i := range f.List {
		if floor := &f.List[i]; floor.Spare < r.Cores && f.covers(floor, tree, r) {
			return false
		}
	}
	return true
}

// take notes that an attempt is taken.
func (f Floors) take(tree *shares.Tree, r Running) {
	for i := range f.List {
		if floor := &f.List[i]; f.covers(floor, tree, r) {
			floor.Spare -= r.Cores
		}
	}
}

func (f Floors) covers(floor *Floor, tree *shares.Tree, r Running) bool {
	if floor.Queue != r.QueueID || floor.Class != "" && floor.Class != f.Classes[r.ShapeID] {
		return false
	}
	leaf, ok := tree.ByID(r.ShareID)
	return ok && slices.Contains(floor.Leaves, leaf)
}
