package dispatcher

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangs are the groups of jobs that start together and have not started, as far as pulls came to them. Guarded by
// Dispatcher.mu.
type gangs struct {
	open  map[*window]struct{}         // windows of their jobs that have some: while there are none, nobody looks further
	by    map[int64]*gang              // by claim
	tasks map[int64][]*gang            // the same, by task
	nodes map[resource.Place]*gangNode // that they were tried at
	line  *line                        // pulls that wait; nil in a replay
	most  time.Duration                // a hold

	changed bool // some gang has: nodes are to be looked at again
}

// gang is the jobs that share a pending claim whose template says gang.
type gang struct {
	claim   *liveClaim
	members []gangMember // that are ready, in their order
	read    bool         // they are those of the moment
	reading bool
	at      time.Time // when they were read
	unmade  bool      // some are still to be made
	lacks   string    // what is missing before they can start; empty: nothing
	hold    *gangNode // where slots are held for it; nil: nowhere
	why     map[resource.Place]string
}

// gangMember is a job of a gang.
type gangMember struct {
	job readyJob
	key windowKey
	sh  *shape
}

func newGangs() gangs {
	return gangs{open: map[*window]struct{}{}, by: map[int64]*gang{}, tasks: map[int64][]*gang{}, nodes: map[resource.Place]*gangNode{},
		most: resource.DefaultGangHold}
}

// follow notes that a window of jobs of gangs has some from now on, or none any more.
func (gs *gangs) follow(w *window) {
	if w.opened {
		gs.open[w] = struct{}{}
	} else {
		delete(gs.open, w)
	}
}

// moved notes that jobs of a task have changed: of the gangs that start with some of the shape it is read again who they are.
// Those that are held back count as well, since a gang waits for them: it may start when they are cancelled.
func (gs *gangs) moved(task int64, of *shape) {
	if of == nil || !of.need.Claims.Starts() {
		return
	}
	for _, g := range gs.tasks[task] {
		g.read, gs.changed = false, true
	}
}

// over says whether the gang has started, or there is nothing of it any more.
func (s *state) over(g *gang) bool {
	return s.claims.by[g.claim.id] != g.claim || g.claim.State != resource.ClaimPending || !g.claim.Template.Gang
}

// forget ends what is known of a gang.
func (gs *gangs) forget(g *gang) {
	gs.letGo(g)
	delete(gs.by, g.claim.id)
	rest := slices.DeleteFunc(gs.tasks[g.claim.task], func(o *gang) bool { return o == g })
	if gs.tasks[g.claim.task] = rest; len(rest) == 0 {
		delete(gs.tasks, g.claim.task)
	}
}

// of finds or makes the gang of a job; nil when it has none that waits to start: what is known of the job is old then.
func (s *state) gangOf(job *readyJob) *gang {
	for _, id := range job.claims {
		c := s.claims.by[id]
		if c == nil || c.unsure || c.State != resource.ClaimPending || !c.Template.Gang {
			continue
		}
		g := s.gangs.by[id]
		if g == nil || g.claim != c {
			g = &gang{claim: c, why: map[resource.Place]string{}}
			s.gangs.by[id] = g
			s.gangs.tasks[c.task] = append(s.gangs.tasks[c.task], g)
		}
		return g
	}
	return nil
}

// candidate is a gang that a pull may come to: where the first of its jobs stands.
type candidate struct {
	gang *gang
	leaf int
	turn userTurn
}

// mostTried bounds how many gangs of a window one decision looks at, of those for which another node is held and of the others:
// those of one window are alike but for jobs that are over.
const mostTried = 8

// candidatesAt are the gangs with a job that a slot may run, by leaf and in the order of their users and first jobs. ok is false when
// windows must be read first.
func (s *state) candidatesAt(p *pull, q *queue, left job.Room, n *needs) (list []candidate, ok bool) {
	seen := map[*gang]bool{}
	ok = true
	for w := range s.gangs.open {
		if w.leaf < 0 || !q.policy.admits(w.leaf) || !s.reaches(p, q, left, w.shape.outline) {
			continue
		}
		if s.siftGangs(w); len(w.jobs) == 0 && !w.opened {
			continue
		}
		if !w.exact() {
			n.windows[w] = true
			ok = false
			continue
		}
		var tried, elsewhere int
		for i := 0; i < len(w.jobs) && tried < mostTried; i++ {
			g := s.gangOf(&w.jobs[i])
			if g == nil || seen[g] || !s.takes(p, g) {
				continue
			}
			seen[g] = true
			if g.read && !g.reading && g.lacks != "" {
				continue
			}
			if g.hold == nil || g.hold.place == placeOf(p) {
				tried++
			} else if elsewhere++; elsewhere > mostTried {
				continue
			}
			list = append(list, candidate{g, w.leaf, w.turn(q.pool, w.jobs[i].stand)})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.leaf, b.leaf), a.turn.compare(b.turn), cmp.Compare(a.turn.place, b.turn.place), cmp.Compare(a.turn.id, b.turn.id))
	})
	return list, ok
}

// reaches says whether a slot may run jobs of an outline.
func (s *state) reaches(p *pull, q *queue, left job.Room, o *outline) bool {
	if !o.queues[q.pos] && (len(p.req.Slot.Labels) == 0 || job.Fits(o.need, q.Queue, p.labels(q)) != "") {
		return false
	}
	return left.Fits(o.need) && p.req.Only.Takes(o.need.Label) && (!o.need.Claims.Bound() || o.need.Claims.Place() == placeOf(p))
}

// takes says whether a pull takes jobs of a gang's task, as far as that is known.
func (s *state) takes(p *pull, g *gang) bool {
	key := narrowOf(p.req.Only)
	if key == (narrowKey{}) {
		return true
	}
	set := s.narrows.by[key]
	return set != nil && set.tasks[g.claim.task]
}

// siftGangs puts those first jobs of a window aside that are of no gang which waits to start: what is known of them is old.
func (s *state) siftGangs(w *window) {
	sifted := false
	for len(w.jobs) > 0 && s.gangOf(&w.jobs[0]) == nil {
		w.doubtJob(w.pop())
		sifted = true
	}
	if sifted {
		s.check(w)
	}
}

func placeOf(p *pull) resource.Place { return resource.Place{Queue: p.req.Queue, Node: p.req.Node} }

// share of a gang: its jobs are of one task.
func (g *gang) share() shares.ShareID { return g.members[0].key.share }
