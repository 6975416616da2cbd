package fold

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Needs is what a step has to know of the tables.
type Needs struct {
	EndedJobs     []int64 // that end, with a lease from before the step
	EndedAttempts []int32 // of these
	Jobs          []int64 // others with such a lease that start or are revoked
	Lows          []int64 // spans of ids, disjoint and in order: the ranges that have one of them are needed
	Highs         []int64
	All           []int64 // tasks all of whose ranges are needed
	Tasks         []int64 // whose users are needed: of the step's grants
	Named         []int64 // whose Tasks are needed
	Verbs         []int64 // of them, those whose leases need to be counted
	Shapes        []int32
	Moves         []Move // of the step's entries.Moved
	Claims        ClaimNeeds
}

// ClaimNeeds says which claims a step may change: those that are named, that jobs hold, or that time or a site ends.
type ClaimNeeds struct {
	IDs     []int64
	Lows    []int64 // spans of ids of jobs
	Highs   []int64
	Tasks   []int64   // whose jobs these are; 0: whoever's
	Tick    time.Time // the newest; zero: none
	Adopted bool      // templates may be there that were missing
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
	spans   []Range
	jobs    []Range // that may hold claims
	nth     int64
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
			n.nth = Nth(b.Seq, i)
			n.entry(e)
			n.claim(e)
		}
		for i := range n.Moves {
			if n.Moves[i].At.IsZero() {
				n.Moves[i].At = b.At
			}
		}
	}
	n.Tasks, n.Shapes, n.Named, n.Verbs, n.All = wanted(n.tasks), wanted(n.shapes), wanted(n.named), wanted(n.verbs), wanted(n.all)
	n.Lows, n.Highs = joined(n.spans)
	lows, highs := joined(n.jobs)
	n.Claims.Lows, n.Claims.Highs = append(n.Claims.Lows, lows...), append(n.Claims.Highs, highs...)
	n.Claims.Tasks = append(n.Claims.Tasks, make([]int64, len(lows))...)
	return n.Needs
}

func (n *needs) entry(e entry.Entry) {
	switch e := e.(type) {
	case entry.Enqueued:
		if n.named[e.Task] = true; !n.tasks[e.Task] {
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
		n.jobs = append(n.jobs, Range{Low: e.Job, High: e.Job})
	case entry.Started:
		n.change(e.Job, e.Attempt)
	case entry.Lasting:
		n.change(e.Job, e.Attempt)
	case entry.Revoked:
		n.change(e.Job, e.Attempt)
	case entry.Ended:
		if n.granted[e.Job] != e.Attempt {
			n.EndedJobs, n.EndedAttempts = append(n.EndedJobs, e.Job), append(n.EndedAttempts, e.Attempt)
		}
		if !e.Next.Final() {
			n.touch(e.Job, e.Job)
		}
		n.jobs = append(n.jobs, Range{Low: e.Job, High: e.Job})
	case entry.Shaped:
		if _, ok := n.shapes[e.Shape]; !ok {
			n.shapes[e.Shape] = false
		}
	default:
		n.verb(e)
	}
}

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
		n.Moves = append(n.Moves, Move{Nth: n.nth, Task: e.Task, Low: e.Low, High: e.High, From: e.From, Share: e.Share, Running: e.Running})
	}
}

// claim notes which claims an entry names.
func (n *needs) claim(e entry.Entry) {
	switch e := e.(type) {
	case entry.Claimed:
		n.Claims.IDs = append(n.Claims.IDs, e.Claim)
	case entry.Unclaimed:
		n.Claims.IDs = append(n.Claims.IDs, e.Claim)
	case entry.Joined:
		n.Claims.IDs = append(n.Claims.IDs, e.Claims...)
		n.jobs = append(n.jobs, Range{Low: e.Low, High: e.High})
	case entry.Dropped:
		if e.Claim != 0 {
			n.Claims.IDs = append(n.Claims.IDs, e.Claim)
		} else {
			n.jobs = append(n.jobs, Range{Low: e.Low, High: e.High})
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
	n.Claims.Lows, n.Claims.Highs = append(n.Claims.Lows, low), append(n.Claims.Highs, high)
	n.Claims.Tasks = append(n.Claims.Tasks, task)
}

// touch needs the ranges of these ids and their neighbours.
func (n *needs) touch(low, high int64) {
	n.spans = append(n.spans, Range{Low: low - 1, High: high + 1})
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
func joined(spans []Range) (lows, highs []int64) {
	slices.SortFunc(spans, func(a, b Range) int { return cmp.Compare(a.Low, b.Low) })
	for _, r := range spans {
		if last := len(highs) - 1; last >= 0 && r.Low <= highs[last]+near {
			highs[last] = max(highs[last], r.High)
			continue
		}
		lows, highs = append(lows, r.Low), append(highs, r.High)
	}
	return lows, highs
}
