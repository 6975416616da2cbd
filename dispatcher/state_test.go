package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// Leaves that wait to be computed are leaves of the tree that they were touched in: a smaller one has not as many.
func TestAdoptFewerShares(t *testing.T) {
	version := func(specs ...shares.Spec) shares.Version {
		tree, err := shares.Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tree.Nodes {
			tree.Nodes[i].ID = shares.ShareID(i)
		}
		q := slots("q", 1)
		q.ID = 1
		return shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{q}}
	}
	s := newState()
	s.adopt(version(node("A", 1), node("B", 1, node("x", 1), node("y", 1))), 1, nil)
	s.touch(4, false)
	s.adopt(version(node("A", 1)), 2, nil)
	s.settle()
	s.touch(1, false)
	s.settle()
	if len(s.dirty) != 0 || s.leaves[1].dirty {
		t.Errorf("%d leaves left to compute", len(s.dirty))
	}
}
