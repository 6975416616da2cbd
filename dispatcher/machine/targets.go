package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
)

// due is a leaf that comes first, by a floor or by its standing.
type due struct {
	floor *books.Target // nil: by its standing, or since it is owed units
	leaf  int
	owed  bool
}

// class is of the jobs that it comes first with; empty: any.
func (d due) class() string {
	if d.floor == nil {
		return ""
	}
	return d.floor.Class
}

// rule is why it comes first.
func (d due) rule() string {
	switch {
	case d.owed:
		return "owed"
	case d.floor != nil:
		return "floor"
	}
	return "share"
}

// takes says whether it is for jobs of an outline.
func (d due) takes(o *outline) bool { return d.class() == "" || o.Class == d.class() }

// offersTo says whether a leaf that contends has jobs that it is due with.
func (r *round) offersTo(d due) bool {
	switch {
	case d.class() == "":
		return true
	case r.narrow != nil:
		return slices.ContainsFunc(r.narrow.leaves[d.leaf], func(c choice) bool { return d.takes(c.buffer.shape.outline) })
	}
	return slices.ContainsFunc(r.leaves[d.leaf].groups, func(g *group) bool {
		return d.takes(g.outline) && r.kind.runs(g.outline) && r.kind.has(g)
	}) || slices.ContainsFunc(r.guests, func(b *buffer) bool { return b.leaf == d.leaf && b.opened && d.takes(b.shape.outline) })
}
