package dispatcher

import (
	"slices"
	"time"
)

// slice is a daemon's part of every window while several daemons lease: k of n. Jobs of the same place are divided
// by id, so that the daemons do not all go for the same head; each takes its own slice first and then what the others
// have left. Places are never passed over: see window.ground. Daemons may disagree for a moment about who is active:
// then two go for the same job, and one of them is told so by the grant.
type slice struct{ k, n int64 }

// sliceIDs is the size of the blocks of ids in which jobs are dealt out, as a power of two.
const sliceIDs = 4

func (s slice) all() bool { return s.n <= 1 }

func (s slice) has(id int64) bool { return s.all() || (id>>sliceIDs)%s.n == s.k }

// activeFor is how long a daemon counts as active after a grant of its.
const activeFor = 5 * time.Second

// reslice deals the windows out anew when the set of daemons that lease has changed. d.mu is held.
func (d *Dispatcher) reslice(now time.Time) {
	ids := []int64{d.id}
	for id, at := range d.active {
		if now.Sub(at) > activeFor {
			delete(d.active, id)
		} else if id != d.id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	s := slice{int64(slices.Index(ids, d.id)), int64(len(ids))}
	if s == d.state.slice {
		return
	}
	d.state.slice = s
	for _, w := range d.state.windows {
		w.slice = s
		w.reset()
		d.state.check(w)
	}
}

// ground is what a window knows of the slices of others.
type ground struct {
	known bool
	at    stand     // nothing that is ready and free comes before it, in any slice
	bare  bool      // nor after it: what is ready is in somebody's hands
	read  time.Time // when that was looked up
	due   bool      // to be looked up again, though the head can be relied on
}

const (
	groundRows  = 64              // of a look at all slices, but for the first
	groundEvery = 5 * time.Second // a daemon that is slow or gone leaves its slice behind: how long that may go unseen
	mostAhead   = 1 << 15         // ids that one daemon may be ahead of the slices of others at the same place
)

// unsure says whether the head, or that there is none, can be relied on only after a look at the other slices.
func (w *window) unsure() bool {
	switch {
	case w.slice.all():
		return false
	case !w.ground.known:
		return true
	case len(w.jobs) == 0:
		return w.end && !w.ground.bare
	}
	return w.ground.at.place < w.jobs[0].place
}

// wantsGround says whether all slices should be looked at.
func (w *window) wantsGround() bool { return w.unsure() || w.ground.due }

// lookAtGround is part of look: what was bare may be free again, and others may have fallen behind.
func (w *window) lookAtGround() (changed bool) {
	if w.slice.all() || w.ready <= 0 {
		return false
	}
	if len(w.jobs) == 0 {
		changed, w.ground.bare = w.ground.bare, false
	} else if time.Since(w.ground.read) > groundEvery {
		w.ground.due = true
	}
	return changed
}

// lower notes that something may be free in other slices from s on.
func (g *ground) lower(s stand) {
	g.bare = false
	if s.before(g.at) {
		g.at = s
	}
}

// tookGround takes over what a look at all slices found, in order: free are those rows that are in nobody's hands
// here. Its own jobs go into the window; those of others too, when the window has no job as good, or others are far
// behind.
func (w *window) tookGround(rows, free []readyJob, full bool) {
	first := !w.ground.known
	w.ground.known, w.ground.due, w.ground.read = true, false, time.Now()
	w.ground.bare = len(free) == 0
	if first {
		w.end = !full && len(w.behind) == 0
		if len(rows) > 0 {
			w.cursor = rows[len(rows)-1].stand
		}
	}
	if len(free) == 0 {
		return
	}
	for _, job := range free {
		if w.slice.has(job.id) {
			w.insert(job)
		}
	}
	low := free[0].stand
	w.ground.at = stand{low.place, low.id - 1}
	if len(w.jobs) > 0 && w.jobs[0].place <= low.place && w.jobs[0].id-low.id < mostAhead {
		return
	}
	for _, job := range free {
		if job.place == low.place {
			w.insert(job)
		}
	}
}
