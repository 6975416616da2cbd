package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/shares"
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

// takes says whether it is for jobs of an outline.
func (d due) takes(o *outline) bool { return d.class() == "" || o.Class == d.class() }

// dueByFloor takes the floors in the order of what they lack, the most first, and below each the leaf that the tree says.
func (r *round) dueByFloor(offered shares.Units, contenders *shares.Contenders, passed []due) (d due, ok bool) {
	tried, q := 0, r.queue
	for lack := int64(1) << 62; tried < len(q.Floors); {
		var next int64
		for _, t := range q.Floors {
			if n := t.Lack(); n > next && n < lack {
				next = n
			}
		}
		if next == 0 {
			break
		}
		for _, t := range q.Floors {
			if t.Lack() != next {
				continue
			}
			tried++
			if leaf, ok := r.below(due{floor: t}, offered, contenders, passed); ok {
				return due{floor: t, leaf: leaf}, true
			}
		}
		lack = next
	}
	return due{}, false
}

// below is the leaf that the tree says among those that a floor is for.
func (r *round) below(d due, offered shares.Units, contenders *shares.Contenders, passed []due) (leaf int, ok bool) {
	p := r.queue.Home
	set := &p.Below
	for _, leaf := range d.floor.Leaves {
		d.leaf = leaf
		if p.Book.Contends(contenders, leaf) && !slices.Contains(passed, d) && r.offersTo(d) {
			p.Book.Contend(set, leaf, true)
		}
	}
	leaf, ok = p.Book.Choose(offered, set)
	for _, leaf := range d.floor.Leaves {
		p.Book.Contend(set, leaf, false)
	}
	return leaf, ok
}

// offersTo says whether a leaf that contends has jobs that it is due with.
func (r *round) offersTo(d due) bool {
	switch {
	case d.class() == "":
		return true
	case r.narrow != nil:
		return slices.ContainsFunc(r.narrow.leaves[d.leaf], func(f first) bool { return d.takes(f.buffer.shape.outline) })
	}
	return slices.ContainsFunc(r.leaves[d.leaf].groups, func(g *group) bool {
		return d.takes(g.outline) && r.kind.runs(g.outline) && r.kind.has(g)
	}) || slices.ContainsFunc(r.guests, func(b *buffer) bool { return b.leaf == d.leaf && b.opened && d.takes(b.shape.outline) })
}
