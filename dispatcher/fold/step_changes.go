package fold

import (
	"cmp"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

func byHigh(a, b Range) int { return cmp.Compare(a.High, b.High) }

func byJob(a, b Lease) int { return cmp.Compare(a.Job, b.Job) }

// changes are what the step has made, each list in an order that has its rows and their index entries side by side.
func (s *step) changes() Changes {
	c := Changes{Ended: s.ended, History: s.history, Ranges: changes(s.before, s.ranges), Odd: s.odd, Odds: s.odds, Sums: s.sums.list()}
	for _, l := range s.live {
		switch {
		case l.isNew:
			c.Granted = append(c.Granted, l.Lease)
		case l.altered:
			c.Altered = append(c.Altered, l.Lease)
		}
	}
	slices.SortFunc(c.Granted, byJob)
	slices.SortFunc(c.Altered, byJob)
	slices.Sort(c.Ended)
	slices.SortFunc(c.History, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
	for _, w := range s.waited {
		c.Expected = append(c.Expected, *w)
	}
	slices.SortFunc(c.Expected, func(a, b Expected) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape))
	})
	for l, text := range s.latest {
		l.Entry = text
		c.Latest = append(c.Latest, l)
	}
	slices.SortFunc(c.Latest, func(a, b Latest) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	return c
}

// Needs is what a step has to know of the tables.
type Needs struct {
	EndedJobs     []int64 // that end, with a lease from before the step
	EndedAttempts []int32 // of these
	Jobs          []int64 // others with such a lease that start or are revoked
	Lows          []int64 // spans of ids, disjoint and in order: the ranges that have one of them are needed
	Highs         []int64
	Tasks         []int64 // of the step's grants
	Shapes        []int32
}

// needs are Needs in the making.
type needs struct {
	Needs
	granted map[int64]int32
	tasks   map[int64]bool // false: no need, the step tells its user
	shapes  map[int32]bool
	spans   []Range
}

// near is how far apart two ids may be to be looked for together.
const near = 256

// NeedsOf finds out what the batches need.
func NeedsOf(batches []entry.Batch) Needs {
	n := needs{granted: map[int64]int32{}, tasks: map[int64]bool{}, shapes: map[int32]bool{}}
	for _, b := range batches {
		for _, e := range b.Entries {
			n.entry(e)
		}
	}
	n.Tasks, n.Shapes = wanted(n.tasks), wanted(n.shapes)
	n.Lows, n.Highs = joined(n.spans)
	return n.Needs
}

func (n *needs) entry(e entry.Entry) {
	switch e := e.(type) {
	case entry.Enqueued:
		if _, ok := n.tasks[e.Task]; !ok {
			n.tasks[e.Task] = false
		}
		n.touch(e.Low, e.High)
	case entry.Withdrew:
		n.touch(e.Low, e.High)
	case entry.Granted:
		n.granted[e.Job] = e.Attempt
		if _, ok := n.tasks[e.Task]; !ok {
			n.tasks[e.Task] = true
		}
		if _, ok := n.shapes[e.Shape]; !ok {
			n.shapes[e.Shape] = true
		}
		n.touch(e.Job, e.Job)
	case entry.Started:
		if n.isOld(e.Job, e.Attempt) {
			n.Jobs = append(n.Jobs, e.Job)
		}
	case entry.Revoked:
		if n.isOld(e.Job, e.Attempt) {
			n.Jobs = append(n.Jobs, e.Job)
		}
	case entry.Ended:
		if n.isOld(e.Job, e.Attempt) {
			n.EndedJobs, n.EndedAttempts = append(n.EndedJobs, e.Job), append(n.EndedAttempts, e.Attempt)
		}
		if e.Next != entry.Over {
			n.touch(e.Job, e.Job)
		}
	case entry.Shaped:
		if _, ok := n.shapes[e.Shape]; !ok {
			n.shapes[e.Shape] = false
		}
	}
}

func (n *needs) isOld(job int64, attempt int32) bool { return n.granted[job] != attempt }

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
