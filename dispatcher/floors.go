package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// due is a leaf that comes first by a floor.
type due struct {
	floor *target // nil: it comes by its standing
	leaf  int
}

// class is of the jobs that it comes first with; empty: any.
func (u due) class() string {
	if u.floor == nil {
		return ""
	}
	return u.floor.Class
}

// takes says whether it is for jobs of an outline.
func (u due) takes(o *outline) bool { return u.class() == "" || o.class == u.class() }

// choose is the leaf that a pull at the queue gets. First come those who are owed units, for which jobs of others were ended;
// then who holds less at the queue than its floor; else whom the tree says. A floor says who is next among those whom all
// limits admit, and nothing else: no target is another for it, and beyond the floor what is held counts as ever.
func (s *state) choose(q *queue, of *contenders, r shares.Units, passed []due) (d due, ok bool) {
	if leaf, ok := q.pool.owedLeaf(&of.leaves); ok {
		return due{leaf: leaf}, true
	}
	if d, ok := s.dueByFloor(q, of, r, passed); ok {
		return d, true
	}
	d.leaf, ok = q.pool.book.Choose(r, &of.leaves)
	return d, ok
}

// dueByFloor takes the floors in the order of what they lack, the most first, and below each whom the tree says.
func (s *state) dueByFloor(q *queue, of *contenders, r shares.Units, passed []due) (d due, ok bool) {
	tried := 0
	for lack := int64(1) << 62; tried < len(q.floors); {
		var next int64
		for _, t := range q.floors {
			if n := t.lack(); n > next && n < lack {
				next = n
			}
		}
		if next == 0 {
			break
		}
		for _, t := range q.floors {
			if t.lack() != next {
				continue
			}
			tried++
			if leaf, ok := s.below(q.pool, of, due{floor: t}, passed, r); ok {
				return due{t, leaf}, true
			}
		}
		lack = next
	}
	return due{}, false
}

// lack is how many cores are held less than a floor says.
func (t *target) lack() int64 { return max(0, int64(t.Slots)-t.held) }

// below is whom the tree says among those that a floor is for.
func (s *state) below(p *pool, of *contenders, d due, passed []due, r shares.Units) (leaf int, ok bool) {
	set := &p.below
	for _, leaf := range d.floor.leaves {
		d.leaf = leaf
		if p.book.Contends(&of.leaves, leaf) && !slices.Contains(passed, d) && of.offersTo(d) {
			p.book.Contend(set, leaf, true)
		}
	}
	leaf, ok = p.book.Choose(r, set)
	for _, leaf := range d.floor.leaves {
		p.book.Contend(set, leaf, false)
	}
	return leaf, ok
}

// offersTo says whether a leaf that contends has jobs that it is due with.
func (c *contenders) offersTo(d due) bool {
	switch {
	case d.class() == "":
		return true
	case c.among != nil:
		return slices.ContainsFunc(c.windows(d.leaf), func(w *window) bool {
			return d.takes(w.shape.outline) && c.runs(w.shape.outline) && w.open()
		})
	}
	for _, g := range c.groups(d.leaf) {
		if d.takes(g.outline) && c.runs(g.outline) && c.has(g) {
			return true
		}
	}
	return false
}

// hangFloor ties a floor to its queue.
func (s *state) hangFloor(q *queue, r targetRow) {
	t, tree := &target{targetRow: r}, s.version.Tree
	for _, leaf := range tree.Leaves() {
		if (targetRow{ShareID: r.ShareID}).covers(tree, tree.Nodes[leaf].ID, "") {
			t.leaves = append(t.leaves, leaf)
		}
	}
	if len(t.leaves) > 0 {
		q.floors = append(q.floors, t)
	}
}

// floorWords says why a share comes first.
func (s *state) floorWords(t *target) string {
	words := fmt.Sprintf("the queue's floor for %s is %d", s.whose(t), t.Slots)
	if t.ExpiresAt != nil {
		words += " until " + t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s, of which %d are held", words, t.held)
}

// floorsAt are the floors of the queues of a pool.
func (s *state) floorsAt(p *pool) (f retry.Floors) {
	for _, q := range s.queues {
		if q.pool != p {
			continue
		}
		for _, t := range q.floors {
			f.List = append(f.List, retry.Floor{Queue: q.ID, Class: t.Class, Leaves: t.leaves, Spare: t.held - int64(t.Slots)})
		}
	}
	if len(f.List) > 0 {
		f.Classes = make(map[int32]string, len(s.shapes))
		for id, sh := range s.shapes {
			f.Classes[id] = sh.class
		}
	}
	return f
}
