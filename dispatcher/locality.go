package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// Jobs that prefer to be near their inputs come first, of those of their share and priority, at queues that are near, and last at the
// others (remote), but no slot is left idle for that: who has no better job for a slot gives a remote one. Nor do jobs wait for a
// near slot for ever: once they were made a while ago (elder) they are at their place by age everywhere.
//
// How old a job is follows from its id: ids rise with time, so it is enough to know which was the highest one some time ago.

// elders says which jobs were made so long ago that they are remote nowhere.
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

// look marks the newest job, and finds out which are elder now. What was there before this daemon was, is so after a wait too.
func (e *elders) look(now time.Time, wait time.Duration) {
	if n := len(e.marks); n == 0 || now.Sub(e.marks[n-1].at) >= wait/marksKept {
		e.marks = append(e.marks, idMark{e.newest, now})
	}
	for len(e.marks) > 0 && now.Sub(e.marks[0].at) >= wait {
		e.upTo = max(e.upTo, e.marks[0].id)
		e.marks = e.marks[1:]
	}
}

// prefersElsewhere says at which queues jobs of an outline are remote, by position; nil: at none.
func (s *state) prefersElsewhere(o *outline) (remote []bool) {
	if o.need.Locality != job.LocalityPreferred {
		return nil
	}
	remote = make([]bool, len(s.version.Queues))
	for i, q := range s.version.Queues {
		remote[i] = !job.Local(o.need.Locations, q)
	}
	return remote
}

// remote says whether the first job of a window comes after local ones of its priority at a queue.
func (s *state) remote(w *window, q *queue) bool {
	return w.shape.remote != nil && w.shape.remote[q.pos] && len(w.jobs) > 0 && w.jobs[0].id > s.elders.upTo
}

// leafOrder is what the order of the windows of a leaf goes by.
type leafOrder struct {
	wide bool          // wider jobs first
	aged bool          // places are times
	wait time.Duration // how long jobs are remote
}

func (s *state) leafOrder(leaf int, q *queue) leafOrder {
	return leafOrder{wide: q.Prefer == "wide", aged: s.version.Tree.Nodes[leaf].Plan.Aging != nil, wait: s.localWait}
}

// before says whether a leaf gives the first job of one window before that of another. Where places are times a local job
// comes before remote ones that are older by no more than the wait.
func (b *choice) before(other *choice, by leafOrder) bool {
	mine, its := b.window.jobs[0].stand, other.window.jobs[0].stand
	switch {
	case b.remote == other.remote:
	case by.aged && b.remote:
		mine.place += by.wait.Milliseconds()
	case by.aged:
		its.place += by.wait.Milliseconds()
	case mine.place == its.place:
		return other.remote
	}
	return mine.before(its)
}
