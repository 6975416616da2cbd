package fold

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Needs is what a step has to know of the tables.
type Needs struct {
	Ended  []LeaseName // that end, from before the step
	Jobs   []int64     // others with such a lease that start or are revoked
	Spans  []Span      // of ids, disjoint and in order: the ranges that have one of them are needed
	All    []int64     // tasks all of whose ranges are needed
	Tasks  []int64     // whose users are needed: of the step's grants
	Named  []int64     // whose Tasks are needed
	Verbs  []int64     // of them, those whose leases need to be counted
	Shapes []int32
	Moves  []Move // of the step's entries.Moved
	Claims ClaimNeeds
}

// LeaseName tells a lease from those of other jobs and attempts.
type LeaseName struct {
	Job     int64
	Attempt int32
}

// ClaimNeeds says which claims a step may change: those that are named, that jobs hold, or that time or a site ends.
type ClaimNeeds struct {
	IDs     []int64
	Spans   []ClaimSpan // of ids of jobs
	Tick    time.Time   // the newest; zero: none
	Adopted bool        // templates may be there that were missing
}

// ClaimSpan is jobs of a task; 0: of any.
type ClaimSpan struct {
	Span
	Task int64
}

// needs are Needs in the making.
type needs struct {
	Needs
	granted map[int64]int32
	tasks   map[int64]bool // false: no need, the step tells its user
	named   map[int64]bool
	verbs   map[int64]bool
	all     map[int64]bool
	shapes  map[int32]bool
	spans   []Span
	jobs    []Span // that may hold claims
	nth     int64  // of the entry at hand
	at      time.Time
}

// near is how far apart two ids may be to be looked for together.
const near = 256

// wide is how many ids are looked for by their task rather than by themselves.
const wide = 1_000_000

// NeedsOf finds out what the batches need.
func NeedsOf(batches []entry.Batch) Needs {
	n := needs{granted: map[int64]int32{}, tasks: map[int64]bool{}, shapes: map[int32]bool{}, named: map[int64]bool{}, verbs: map[int64]bool{},
		all: map[int64]bool{}}
	for _, b := range batches {
		for i, e := range b.Entries {
			n.nth, n.at = Nth(b.Seq, i), b.At
			n.entry(e)
		}
	}
	n.Tasks, n.Shapes, n.Named, n.Verbs, n.All = wanted(n.tasks), wanted(n.shapes), wanted(n.named), wanted(n.verbs), wanted(n.all)
	n.Spans = joined(n.spans)
	for _, s := range joined(n.jobs) {
		n.Claims.Spans = append(n.Claims.Spans, ClaimSpan{Span: s})
	}
	return n.Needs
}

func (n *needs) entry(e entry.Entry) {
	switch e := e.(type) {
	case entry.Enqueued:
		if n.named[e.Task] = true; e.User != "" && !n.tasks[e.Task] {
			n.tasks[e.Task] = false
		}
		n.touch(e.Low, e.High)
	case entry.Granted:
		n.granted[e.Job] = e.Attempt
		n.named[e.Task] = true
		if _, ok := n.tasks[e.Task]; !ok {
			n.tasks[e.Task] = true
		}
		if _, ok := n.shapes[e.Shape]; !ok {
			n.shapes[e.Shape] = true
		}
		n.touch(e.Job, e.Job)
		n.jobs = append(n.jobs, Span{Low: e.Job, High: e.Job})
	case entry.Started:
		n.change(e.Job, e.Attempt)
	case entry.Lasting:
		n.change(e.Job, e.Attempt)
	case entry.Revoked:
		n.change(e.Job, e.Attempt)
	case entry.Ended:
		if n.granted[e.Job] != e.Attempt {
			n.Ended = append(n.Ended, LeaseName{e.Job, e.Attempt})
		}
		if !e.Next.Final() {
			n.touch(e.Job, e.Job)
		}
		n.jobs = append(n.jobs, Span{Low: e.Job, High: e.Job})
	case entry.Shaped:
		if _, ok := n.shapes[e.Shape]; !ok {
			n.shapes[e.Shape] = false
		}
	default:
		n.verb(e)
	}
}

// verb notes what entries are about that people and rules want, or claims.
func (n *needs) verb(e entry.Entry) {
	switch e := e.(type) {
	case entry.Paused:
		n.named[e.Task], n.all[e.Task] = true, true
	case entry.Resumed:
		n.named[e.Task], n.all[e.Task] = true, true
	case entry.Killed:
		n.rangeOf(e.Task, e.Low, e.High)
	case entry.Closed:
		n.rangeOf(e.Task, e.Low, e.High)
	case entry.Placed:
		n.rangeOf(e.Task, e.Low, e.High)
	case entry.Moved:
		n.rangeOf(e.Task, e.Low, e.High)
		n.Moves = append(n.Moves, Move{Nth: n.nth, At: n.at, Task: e.Task, Low: e.Low, High: e.High, From: e.From, Share: e.Share, Running: e.Running})
	case entry.Claimed:
		n.Claims.IDs = append(n.Claims.IDs, e.Claim)
	case entry.Unclaimed:
		n.Claims.IDs = append(n.Claims.IDs, e.Claim)
	case entry.Joined:
		n.Claims.IDs = append(n.Claims.IDs, e.Claims...)
		n.jobs = append(n.jobs, Span{Low: e.Low, High: e.High})
	case entry.Dropped:
		if e.Claim != 0 {
			n.Claims.IDs = append(n.Claims.IDs, e.Claim)
		} else {
			n.jobs = append(n.jobs, Span{Low: e.Low, High: e.High})
		}
	case entry.Tick:
		if e.Now.After(n.Claims.Tick) {
			n.Claims.Tick = e.Now
		}
	case entry.Adopted:
		n.Claims.Adopted = true
	}
}

// change needs the lease of an attempt, if it is from before the step.
func (n *needs) change(job int64, attempt int32) {
	if n.granted[job] != attempt {
		n.Jobs = append(n.Jobs, job)
	}
}

// rangeOf needs what a verb about jobs of a task does.
func (n *needs) rangeOf(task, low, high int64) {
	n.named[task], n.verbs[task] = true, true
	if high = min(high, maxID); high-low > wide {
		n.all[task] = true
	} else {
		n.touch(low, high)
	}
	n.Claims.Spans = append(n.Claims.Spans, ClaimSpan{Span{Low: low, High: high}, task})
}

// touch needs the ranges of these ids and their neighbours.
func (n *needs) touch(low, high int64) {
	n.spans = append(n.spans, Span{Low: low - 1, High: high + 1})
}

func wanted[K comparable](all map[K]bool) (keys []K) {
	for k, ok := range all {
		if ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// joined makes one span of those that overlap or are near each other.
func joined(spans []Span) (apart []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Low, b.Low) })
	for _, s := range spans {
		if last := len(apart) - 1; last >= 0 && s.Low <= apart[last].High+near {
			apart[last].High = max(apart[last].High, s.High)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}
