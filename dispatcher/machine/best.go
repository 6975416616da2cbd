package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// choice is the best job of a leaf for a slot. The zero one is none.
type choice struct {
	buffer *buffer
	job    ready.Range // Low is the job
	turn   ready.Turn  // in the pool; of its user, where the leaf gives turns to users
	remote bool        // it would rather run elsewhere
}

// choice is the first job of a buffer.
func (r *round) choice(b *buffer, first ready.Range) choice {
	return choice{buffer: b, job: first, turn: b.user.TurnIn(r.queue.Home, first.Stand()), remote: r.remote(b, first, r.queue)}
}

// best is the job that the leaf gives: of the user who holds least where it gives turns to users, then the earliest, or the
// widest where the queue prefers it, of those that the limits of the path, lending and borrowing and resources admit. When
// none is left, in is what stands in the way, or nothing if the leaf has no job after all. A leaf that is due by a floor
// gives a job of its class.
func (r *round) best(d due) (found choice, in obstacle) {
	if r.filtered != nil {
		return r.bestAmong(d)
	}
	by := r.leafOrder(d.leaf)
	for _, g := range r.leaves[d.leaf].groups {
		if !r.kind.runs(g.outline) || !d.takes(g.outline) {
			continue
		}
		plain, h := g.plain != nil && g.plain.open(), r.kinds.headsAt(g, r.kind.headsOf(g))
		if !plain && (h == nil || !h.Any()) {
			if h != nil {
				in.Keep(h.KeptBack())
			}
			if g.unmade() && r.admitted(d.leaf, g.outline, &in) {
				in.unmade = g
			}
			continue
		}
		if !r.admitted(d.leaf, g.outline, &in) {
			continue
		}
		if plain {
			first, _ := g.plain.First()
			found.meet(r.choice(g.plain, first), by)
		}
		if h == nil {
			continue
		}
		if head, ok := h.First(r.shortOf); ok {
			b := head.(*buffer)
			first, _ := b.First()
			found.meet(r.choice(b, first), by)
		} else {
			in.Keep(h.KeptBack())
		}
	}
	r.bestGuest(d, &found)
	return found, in
}

// admitted says whether limits, target slots, lending and borrowing admit jobs of an outline; if not, the obstacle learns it.
func (r *round) admitted(leaf int, o *outline, in *obstacle) bool {
	return r.site.Admits(books.Bid{Leaf: leaf, Fit: &o.Fit, Pool: r.kind.pool, Power: r.kind.power, At: r.kind.at}, &in.Obstacle)
}

// leafOrder is what the order of the jobs of a leaf goes by.
type leafOrder struct {
	wide bool          // wider jobs first
	aged bool          // places are times
	wait time.Duration // how long jobs are remote
}

func (r *round) leafOrder(leaf int) leafOrder {
	return leafOrder{wide: r.queue.Prefer == "wide", aged: r.site.Version.Tree.Nodes[leaf].Plan.Aging != nil, wait: r.settings.LocalWait}
}

// meet keeps the better of two jobs of a leaf.
func (c *choice) meet(other choice, by leafOrder) {
	if c.buffer == nil {
		*c = other
		return
	}
	order := other.turn.CompareUsers(c.turn) // whatever their first jobs are
	if order == 0 && by.wide {
		order = cmp.Compare(c.buffer.shape.Need.Cores, other.buffer.shape.Need.Cores)
	}
	if order < 0 || order == 0 && other.before(c, by) {
		*c = other
	}
}

// before says whether a leaf gives one job before another. Where places are times a local job comes before remote ones that
// are older by no more than the wait.
func (c *choice) before(other *choice, by leafOrder) bool {
	mine, its := c.job.Stand(), other.job.Stand()
	switch {
	case c.remote == other.remote:
	case by.aged && c.remote:
		mine.Place += by.wait.Milliseconds()
	case by.aged:
		its.Place += by.wait.Milliseconds()
	case mine.Place == its.Place:
		return other.remote
	}
	return mine.Before(its)
}

// remote says whether a job comes after local ones of its priority at a queue.
func (s *state) remote(b *buffer, first ready.Range, q *books.Queue) bool {
	return b.shape.Remote != nil && b.shape.Remote[q.Pos] && first.Low > s.elders.UpTo
}

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
	case r.filtered != nil:
		return slices.ContainsFunc(r.filtered.leaves[d.leaf], func(c choice) bool { return d.takes(c.buffer.shape.outline) })
	}
	return slices.ContainsFunc(r.leaves[d.leaf].groups, func(g *group) bool {
		return d.takes(g.outline) && r.kind.runs(g.outline) && r.kind.has(g)
	}) || slices.ContainsFunc(r.guests, func(b *buffer) bool { return b.leaf == d.leaf && b.opened && d.takes(b.shape.outline) })
}

// obstacle is what keeps the jobs of a leaf back; see books.Obstacle.
type obstacle struct {
	books.Obstacle
	unmade *group // whose jobs are still to be made; nil: none
}
