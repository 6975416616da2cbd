package dispatcher

import (
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

const (
	firstRead  = 250 // rows of a window's first read; each that follows is twice as large,
	windowSize = 500 // up to this: a window that is drained often reads much, and thousands that are not take little memory
	mostBehind = 64  // announced ranges before the window starts anew at the lowest of them
)

// stand is a position in the ready order of one window.
type stand struct{ place, id int64 }

func (a stand) before(b stand) bool { return a.place < b.place || a.place == b.place && a.id < b.id }

// readyJob is a job that waits in a window, with its piece: nothing is read again when it is leased.
type readyJob struct {
	stand
	row      pgtype.TID // where it lay when it was read: found there, it need not be looked for in the index
	task     int64
	attempt  int32
	priority int32
	piece    job.Piece
	claims   []int64 // that it will hold; nil: none
	made     int64   // when, in milliseconds since 1970; 0: it tries a piece again
}

// span is a range of ids at one place that became ready.
type span struct{ place, low, high int64 }

type windowKey struct {
	share shares.ShareID
	shape int32
}

// window is the part in memory of the ready jobs of one (share, shape), best first.
//
// All ready jobs up to the cursor are in jobs, in flight, in behind (announced, not read yet) or in doubt (another
// daemon seemed to have them); what is after the cursor is read when jobs run low.
type window struct {
	key    windowKey
	shape  *shape
	leaf   int // node of the present tree; -1: the share has gone
	group  *group
	user   *user // whose jobs it has, where its leaf gives turns to users; else nil
	waits  int64 // as the group has counted,
	coming int64 // and of them jobs to come
	asked  int64 // jobs that the resources which it asks for have counted as wanted

	bundles map[shares.QueueID]*resource.Bundle // what its jobs need of resources: by queue where some are per queue, else of queue 0

	ready   int64 // from the ledger, less what is in flight
	backlog int64 // jobs that are not generated yet
	starts  rate
	private bool // of a narrow: nothing here reads it on

	jobs    []readyJob
	cursor  stand
	end     bool // nothing was after the cursor when it was last read
	behind  []span
	reading []span // was behind: a read of it is on its way
	doubt   []span
	parked  int // claims for a place in which jobs of it wait
	filling bool
	opened  bool // whether it has something to give, as state.check saw it last
	next    int  // rows of the next read
	slice   slice
	ground  ground // while there are several slices
	rewinds int    // rises when the cursor goes back: a read that began before is void
	idle    int    // looks in a row at which ready > 0 and nothing was found
}

func newWindow(key windowKey, sh *shape) *window {
	return &window{key: key, shape: sh, leaf: -1, next: firstRead, cursor: stand{place: minPlace}, ground: ground{at: stand{place: minPlace}}}
}

const minPlace = -1 << 62

// exact says whether the first of its jobs, or that there is none, can be relied on: no better one is unread.
func (w *window) exact() bool {
	if w.unsure() {
		return false
	}
	if len(w.jobs) == 0 {
		return len(w.behind) == 0 && len(w.reading) == 0 && w.end
	}
	return !w.better(w.behind) && !w.better(w.reading)
}

// better says whether a span may hold a job that comes before the first one here, or a later attempt of that one.
func (w *window) better(spans []span) bool {
	for _, b := range spans {
		if !w.jobs[0].before(stand{b.place, b.low}) {
			return true
		}
	}
	return false
}

// open says whether a job may come out of it: one that is there, or one that a read may bring. A window that was read
// to its end and is empty although jobs count as ready has none: they are in other hands.
func (w *window) open() bool { return len(w.jobs) > 0 || w.ready > 0 && !w.exact() }

// wantsRead says whether a read would bring something that will be needed soon.
func (w *window) wantsRead() bool {
	return !w.filling && !w.private && (len(w.behind) > 0 || w.low() || w.wantsGround())
}

// dry says whether decisions wait for a read.
func (w *window) dry() bool { return len(w.jobs) == 0 || !w.exact() }

// low says whether it is time to read on from the cursor.
func (w *window) low() bool {
	return !w.end && len(w.jobs) < w.next/4 && (w.slice.all() || w.ground.known)
}

func (w *window) pop() readyJob {
	job := w.jobs[0]
	w.jobs[0] = readyJob{}
	w.jobs = w.jobs[1:]
	return job
}

// drop takes a job out that was granted by way of another window.
func (w *window) drop(at stand) {
	if i, has := w.find(at); has {
		w.jobs = slices.Delete(w.jobs, i, i+1)
	}
}

// find is where the job at a stand is, or would be.
func (w *window) find(at stand) (i int, has bool) {
	i = sort.Search(len(w.jobs), func(i int) bool { return !w.jobs[i].before(at) })
	return i, i < len(w.jobs) && w.jobs[i].stand == at
}

// insert puts a job at its place. One that is there already may be an attempt that others have used up.
func (w *window) insert(job readyJob) {
	n := len(w.jobs)
	if n == 0 || w.jobs[n-1].before(job.stand) {
		w.jobs = append(w.jobs, job)
		return
	}
	i := sort.Search(n, func(i int) bool { return !w.jobs[i].before(job.stand) })
	switch {
	case w.jobs[i].id != job.id:
		w.jobs = slices.Insert(w.jobs, i, job)
	case w.jobs[i].attempt < job.attempt:
		w.jobs[i] = job
	}
}

// announce notes that jobs became ready. Those after the cursor will be read in their turn.
func (w *window) announce(s span) {
	w.ground.lower(stand{s.place, s.low - 1})
	if !w.cursor.before(stand{s.place, s.high}) || w.filling {
		// While a read is under way the cursor is about to move: rather read a job twice than never.
		w.behind = append(w.behind, s)
	} else if !w.cursor.before(stand{s.place, s.low}) {
		w.behind = append(w.behind, s)
		w.end = false
	} else {
		w.end = false
	}
	if len(w.behind) > mostBehind {
		w.rewind()
	}
}

// putOff leaves out announced ranges that the cursor has not come to after all: they are read in their turn.
func (w *window) putOff() {
	n := len(w.behind)
	w.behind = slices.DeleteFunc(w.behind, func(s span) bool { return w.cursor.before(stand{s.place, s.low}) })
	if len(w.behind) < n {
		w.end = false
	}
}

// took takes over what a read brought: jobs of announced ranges, and the next ones after the cursor. Of the ranges only what
// is not after the cursor counts: were the cursor to follow the rest, all between would be passed over.
func (w *window) took(read windowRead, behind, next []readyJob) {
	for _, job := range behind {
		if read.from.before(job.stand) {
			w.end = false
			continue
		}
		w.insert(job)
	}
	for _, job := range next {
		w.insert(job)
	}
}

// withdraw drops jobs that are not ready any more. One of them may have become so again meanwhile: the range is read
// once more.
func (w *window) withdraw(s span) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j readyJob) bool { return j.place == s.place && s.low <= j.id && j.id <= s.high })
	w.announce(s)
}

// rewind moves the cursor back to just before the lowest announced range: one read onwards instead of many.
func (w *window) rewind() {
	low := w.cursor
	for _, b := range slices.Concat(w.behind, w.reading) { // a read that is on its way will be void
		if s := (stand{b.place, b.low - 1}); s.before(low) {
			low = s
		}
	}
	w.cursor, w.behind, w.end = low, nil, false
	w.rewinds++
	i := sort.Search(len(w.jobs), func(i int) bool { return low.before(w.jobs[i].stand) })
	w.jobs = w.jobs[:i]
}

// reset forgets all: the next read starts at the top.
func (w *window) reset() {
	w.cursor, w.jobs, w.behind, w.doubt, w.end, w.idle = stand{place: minPlace}, nil, nil, nil, false, 0
	w.ground = ground{at: stand{place: minPlace}}
	w.rewinds++
}

// rate is an exponentially weighted count of events per minute, over about two minutes.
type rate struct {
	perMinute float64
	pending   float64
	at        time.Time
}

func (r *rate) add(n float64) { r.pending += n }

func (r *rate) fold(now time.Time) {
	if r.at.IsZero() {
		r.at = now
		return
	}
	dt := now.Sub(r.at).Minutes()
	if dt < 1.0/60 {
		return
	}
	keep := max(0, 1-dt/2)
	r.perMinute = keep*r.perMinute + (1-keep)*r.pending/dt
	r.pending, r.at = 0, now
}
