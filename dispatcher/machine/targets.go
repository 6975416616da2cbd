package machine

import (
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// target is target slots of a queue: a limit, or a floor.
type target struct {
	entry.Target
	limit  *limit // nil of a floor
	held   int64  // cores
	leaves []int  // of a floor: whose jobs count
}

// covers says whether jobs of a share and class count under it.
func (t *target) covers(tree *shares.Tree, share shares.ShareID, class string) bool {
	if t.Class != "" && t.Class != class {
		return false
	}
	if t.Share == 0 {
		return true
	}
	for i, ok := tree.ByID(share); ok && i >= 0; i = tree.Nodes[i].Parent {
		if tree.Nodes[i].ID == t.Share {
			return true
		}
	}
	return false
}

// hangTargets ties the limits and floors that are in force to their queues.
func (t *site) hangTargets() {
	tree := t.version.Tree
	for _, r := range t.targets {
		q := t.byName[r.Queue]
		if q == nil || !r.Until.IsZero() && !t.at.Before(r.Until) {
			continue
		}
		if !r.Floor {
			ref := fmt.Sprintf("%s/%d/%s", r.Queue, r.Share, r.Class)
			q.targets = append(q.targets, &target{Target: r, limit: &limit{gate: gate.Targets, ref: ref, cap: shares.Units(r.Slots) * 1000}})
			continue
		}
		f := &target{Target: r}
		anyClass := target{Target: entry.Target{Share: r.Share}}
		for _, leaf := range tree.Leaves() {
			if anyClass.covers(tree, tree.Nodes[leaf].ID, "") {
				f.leaves = append(f.leaves, leaf)
			}
		}
		if len(f.leaves) > 0 {
			q.floors = append(q.floors, f)
		}
	}
}

// holdTargets counts what is held under the target slots of a queue.
func (t *site) holdTargets(s *state, q *queue, by ready.Key, jobs int64) {
	sh := s.words.shapes[by.Shape]
	cores := jobs * int64(sh.need.Cores)
	for _, list := range [2][]*target{q.targets, q.floors} {
		for _, each := range list {
			if each.covers(t.version.Tree, by.Share, sh.class) {
				each.held += cores
				each.limit.charge(s, shares.Units(cores)*1000)
			}
		}
	}
}

// mostAt is what jobs of a share and class may hold of a queue, in units; an empty class is for all of them. ok is false when
// neither slots nor target slots bound it. What others hold under the same target slots does not count, as with the slots of
// a queue: else a grant at one queue would change what a thousand shares want.
func (t *site) mostAt(q *queue, share shares.ShareID, class string) (most shares.Units, ok bool) {
	most, ok = q.Capacity()
	for _, each := range q.targets {
		if u := shares.Units(int64(each.Slots) * q.CorePowerMilli); (!ok || u < most) && each.covers(t.version.Tree, share, class) {
			most, ok = u, true
		}
	}
	return most, ok
}

// due is a leaf that comes first, by a floor or by its standing.
type due struct {
	floor *target // nil: by its standing, or since it is owed units
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
func (d due) takes(o *outline) bool { return d.class() == "" || o.class == d.class() }

// lack is how many cores are held less than a floor says.
func (t *target) lack() int64 { return max(0, int64(t.Slots)-t.held) }

// dueByFloor takes the floors in the order of what they lack, the most first, and below each the leaf that the tree says.
func (r *round) dueByFloor(offered shares.Units, contenders *shares.Contenders, passed []due) (d due, ok bool) {
	tried, q := 0, r.queue
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
	p := r.queue.pool
	set := &p.below
	for _, leaf := range d.floor.leaves {
		d.leaf = leaf
		if p.book.Contends(contenders, leaf) && !slices.Contains(passed, d) && r.offersTo(d) {
			p.book.Contend(set, leaf, true)
		}
	}
	leaf, ok = p.book.Choose(offered, set)
	for _, leaf := range d.floor.leaves {
		p.book.Contend(set, leaf, false)
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

// owed is what leaves of a pool may take before all others: units that were reclaimed for them by comparing leaves with
// leaves, or from whom the rank said. Pulls go by the targets of the tree, which would give some of them back. Nothing is
// kept for a leaf: one that has no job for the slot at hand is passed over.
type owed struct{ list []owedUnits }

type owedUnits struct {
	leaf  int
	units shares.Units // 0 or less: it had them
}

// leafIn is a leaf that is owed units; false when none is that has a job.
func (w *owed) leafIn(book *shares.Pool, contenders *shares.Contenders) (leaf int, ok bool) {
	for _, o := range w.list {
		if o.units > 0 && book.Contends(contenders, o.leaf) {
			return o.leaf, true
		}
	}
	return 0, false
}

// take notes that a leaf was granted units.
func (w *owed) take(leaf int, u shares.Units) {
	for i := range w.list {
		if o := &w.list[i]; o.leaf == leaf && o.units > 0 {
			o.units -= u
			return
		}
	}
}
