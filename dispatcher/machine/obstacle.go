package machine

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
)

// obstacle is what keeps the jobs of a leaf back; see books.Obstacle.
type obstacle struct {
	books.Obstacle
	unmade *group // whose jobs are still to be made; nil: none
}

// keptBack is what keeps some leaf out, the first of the tree; zero if none is out. A hard limit goes before lending.
func (c *kind) keptBack() Refusal {
	tree := c.state.site.Version.Tree
	if leaf := firstOf(c.barred); leaf > 0 && len(c.barred[leaf]) > 0 {
		l := c.barred[leaf][0]
		return Refusal{Gate: l.Gate, Ref: l.Ref, Had: int64(max(0, l.Room()))}
	}
	if leaf := firstOf(c.refused); leaf > 0 {
		in := c.refused[leaf]
		return in.Refusal(tree)
	}
	return Refusal{Gate: c.starved[firstOf(c.starved)]}
}

// firstOf is the lowest key; 0 if there is none, which is the root and no leaf.
func firstOf[V any](leaves map[int]V) int { return append(slices.Sorted(maps.Keys(leaves)), 0)[0] }
