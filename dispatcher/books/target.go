package books

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Target is target slots of a queue: a limit, or a floor.
type Target struct {
	entry.Target
	Limit  *Limit // nil of a floor
	Held   int64  // cores
	Leaves []int  // of a floor: whose jobs count
}

// Covers says whether jobs of a share and class count under it.
func (t *Target) Covers(tree *shares.Tree, share shares.ShareID, class string) bool {
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
func (t *Site) hangTargets() {
	tree := t.Version.Tree
	for _, r := range t.Targets {
		q := t.ByName[r.Queue]
		if q == nil || !r.Until.IsZero() && !t.At.Before(r.Until) {
			continue
		}
		if !r.Floor {
			ref := fmt.Sprintf("%s/%d/%s", r.Queue, r.Share, r.Class)
			q.Targets = append(q.Targets, &Target{Target: r, Limit: &Limit{Gate: gate.Targets, Ref: ref, cap: shares.Units(r.Slots) * 1000}})
			continue
		}
		f := &Target{Target: r}
		anyClass := Target{Target: entry.Target{Share: r.Share}}
		for _, leaf := range tree.Leaves() {
			if anyClass.Covers(tree, tree.Nodes[leaf].ID, "") {
				f.Leaves = append(f.Leaves, leaf)
			}
		}
		if len(f.Leaves) > 0 {
			q.Floors = append(q.Floors, f)
		}
	}
}

// holdTargets counts what is held under the target slots of a queue.
func (t *Site) holdTargets(q *Queue, share shares.ShareID, class string, cores int64) {
	for _, list := range [2][]*Target{q.Targets, q.Floors} {
		for _, each := range list {
			if each.Covers(t.Version.Tree, share, class) {
				each.Held += cores
				t.charge(each.Limit, shares.Units(cores)*1000)
			}
		}
	}
}

// MostAt is what jobs of a share and class may hold of a queue, in units; an empty class is for all of them. ok is false when
// neither slots nor target slots bound it. What others hold under the same target slots does not count, as with the slots of
// a queue: else a grant at one queue would change what a thousand shares want.
func (t *Site) MostAt(q *Queue, share shares.ShareID, class string) (most shares.Units, ok bool) {
	most, ok = q.Capacity()
	for _, each := range q.Targets {
		if u := shares.Units(int64(each.Slots) * q.CorePowerMilli); (!ok || u < most) && each.Covers(t.Version.Tree, share, class) {
			most, ok = u, true
		}
	}
	return most, ok
}

// Lack is how many cores are held less than a floor says.
func (t *Target) Lack() int64 { return max(0, int64(t.Slots)-t.Held) }

// DueByFloor is the leaf of contenders that a floor of the queue has come first: it takes the floors in the order of what they lack, the
// most first, and below each the leaf that the tree says. offers says whether a leaf has jobs that a floor is for.
func (q *Queue) DueByFloor(offered shares.Units, contenders *shares.Contenders, offers func(*Target, int) bool) (floor *Target, leaf int, ok bool) {
	for _, t := range slices.SortedStableFunc(slices.Values(q.Floors), func(a, b *Target) int { return cmp.Compare(b.Lack(), a.Lack()) }) {
		if t.Lack() == 0 {
			break
		}
		if leaf, ok := q.Home.below(t, offered, contenders, offers); ok {
			return t, leaf, true
		}
	}
	return nil, 0, false
}

// below is the leaf that the tree says among those that a floor is for.
func (p *Pool) below(t *Target, offered shares.Units, contenders *shares.Contenders, offers func(*Target, int) bool) (leaf int, ok bool) {
	for _, leaf := range t.Leaves {
		if contenders.Has(p.Book, leaf) && offers(t, leaf) {
			p.floored.Set(p.Book, leaf, true)
		}
	}
	leaf, ok = p.floored.Choose(p.Book, offered)
	for _, leaf := range t.Leaves {
		p.floored.Set(p.Book, leaf, false)
	}
	return leaf, ok
}
