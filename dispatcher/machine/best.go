package machine

import (
	"cmp"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// stand is a position in the ready order of a share.
type stand struct{ place, id int64 }

func (a stand) before(b stand) bool { return a.place < b.place || a.place == b.place && a.id < b.id }

// choice is the best job of a leaf for a slot. The zero one is none.
type choice struct {
	buffer *buffer
	job    ready.Range // Low is the job
	turn   userTurn    // of its user in the pool, where the leaf gives turns to users; the stand is not set
	remote bool        // it would rather run elsewhere
}

// choice is the first job of a buffer.
func (r *round) choice(b *buffer, first ready.Range) choice {
	return choice{buffer: b, job: first, turn: b.turn(r.queue.pool, stand{}), remote: r.remote(b, first, r.queue)}
}

// best is the job that the leaf gives: of the user who holds least where it gives turns to users, then the earliest, or the
// widest where the queue prefers it, of those that the limits of the path, lending and borrowing and resources admit. When
// none is left, in is what stands in the way, or nothing if the leaf has no job after all. A leaf that is due by a floor
// gives a job of its class.
func (r *round) best(d due) (found choice, in obstacle) {
	by := r.leafOrder(d.leaf)
	for _, g := range r.leaves[d.leaf].groups {
		if !r.kind.runs(g.outline) || !d.takes(g.outline) {
			continue
		}
		plain, h := g.plain != nil && g.plain.open(), r.kinds.headsAt(g, r.kind.headsOf(g))
		if !plain && (h == nil || !h.in.any()) {
			if h != nil {
				in.keep(h.keptBack())
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
		if b := r.first(h); b != nil {
			first, _ := b.First()
			found.meet(r.choice(b, first), by)
		} else {
			in.keep(h.keptBack())
		}
	}
	return found, in
}

// admitted says whether the limits of the path, target slots, lending and borrowing admit jobs of an outline; if not, the
// obstacle learns it.
func (r *round) admitted(leaf int, o *outline, in *obstacle) bool {
	units := shares.Units(o.need.Cores) * r.kind.power
	for _, l := range r.kind.pool.paths[leaf] {
		if l.room() < units {
			in.meet(l, units)
			return false
		}
	}
	if r.kind.at != nil {
		tree, cores := r.site.version.Tree, shares.Units(o.need.Cores)*1000
		for _, t := range r.kind.at.targets {
			if t.limit.room() < cores && t.covers(tree, tree.Nodes[leaf].ID, o.class) {
				in.meet(t.limit, cores)
				return false
			}
		}
	}
	if !r.kind.pool.lends {
		return true
	}
	rule, ok := r.kind.pool.book.Admits(leaf, units)
	if !ok && (in.units == 0 || units < in.units) {
		in.rule, in.units = rule, units
	}
	return ok
}

// leafOrder is what the order of the jobs of a leaf goes by.
type leafOrder struct {
	wide bool          // wider jobs first
	aged bool          // places are times
	wait time.Duration // how long jobs are remote
}

func (r *round) leafOrder(leaf int) leafOrder {
	return leafOrder{wide: r.queue.Prefer == "wide", aged: r.site.version.Tree.Nodes[leaf].Plan.Aging != nil, wait: r.settings.LocalWait}
}

// meet keeps the better of two jobs of a leaf.
func (c *choice) meet(other choice, by leafOrder) {
	if c.buffer == nil {
		*c = other
		return
	}
	order := other.turn.compare(c.turn) // whatever their first jobs are
	if order == 0 && by.wide {
		order = cmp.Compare(c.buffer.shape.need.Cores, other.buffer.shape.need.Cores)
	}
	if order < 0 || order == 0 && other.before(c, by) {
		*c = other
	}
}

// before says whether a leaf gives one job before another. Where places are times a local job comes before remote ones that
// are older by no more than the wait.
func (c *choice) before(other *choice, by leafOrder) bool {
	mine, its := stand{c.job.Place, c.job.Low}, stand{other.job.Place, other.job.Low}
	switch {
	case c.remote == other.remote:
	case by.aged && c.remote:
		mine.place += by.wait.Milliseconds()
	case by.aged:
		its.place += by.wait.Milliseconds()
	case mine.place == its.place:
		return other.remote
	}
	return mine.before(its)
}

// elders says which jobs were made so long ago that they are remote nowhere. How old a job is follows from its id: ids rise with
// time, so it is enough to know which was the highest one some time ago.
type elders struct {
	newest int64 // id that was seen
	marks  []idMark
	upTo   int64 // jobs up to this one are elder
}

// idMark says that a job with the id, or a higher one, was there.
type idMark struct {
	id int64
	at time.Time
}

// marksKept is how many marks there are in the time that jobs are remote: it may be longer by one part.
const marksKept = 8

// saw notes the id of a job that became ready.
func (e *elders) saw(id int64) { e.newest = max(e.newest, id) }

// look marks the newest job, and finds out which are elder now.
func (e *elders) look(now time.Time, wait time.Duration) {
	if n := len(e.marks); n == 0 || now.Sub(e.marks[n-1].at) >= wait/marksKept {
		e.marks = append(e.marks, idMark{e.newest, now})
	}
	for len(e.marks) > 0 && now.Sub(e.marks[0].at) >= wait {
		e.upTo = max(e.upTo, e.marks[0].id)
		e.marks = e.marks[1:]
	}
}

// prefersElsewhere says at which queues jobs are remote, by position; nil: at none.
func prefersElsewhere(need job.Requirements, queues []shares.Queue) (remote []bool) {
	if need.Locality != job.LocalityPreferred {
		return nil
	}
	remote = make([]bool, len(queues))
	for i, q := range queues {
		remote[i] = !job.Local(need.Locations, q)
	}
	return remote
}

// remote says whether a job comes after local ones of its priority at a queue.
func (s *state) remote(b *buffer, first ready.Range, q *queue) bool {
	return b.shape.remote != nil && b.shape.remote[q.pos] && first.Low > s.elders.upTo
}
