package replay

import (
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
)

// keptDecisions bounds what a Recent has.
const keptDecisions = 4096

// Recent is the newest decisions of a daemon. The zero value has none; it is for one goroutine at a time.
type Recent struct {
	Daemon int64     // that makes them
	ring   []Decided // of keptDecisions at the most; that of number n is at (n - 1) % keptDecisions
	last   int64     // number of the newest
}

// Keep adds a decision, which gets its number.
func (r *Recent) Keep(d Decided) {
	r.last++
	d.N = r.last
	if len(r.ring) < keptDecisions {
		r.ring = append(r.ring, d)
		return
	}
	r.ring[(r.last-1)%keptDecisions] = d
}

// DecidedFilter selects decisions. Zero fields select nothing away.
type DecidedFilter struct {
	Share  string // that won, or is above the one that did
	Queue  string
	Task   int64
	Job    int64
	Daemon int64 // with After: whose numbers these are; of another daemon all count as new
	After  int64 // numbers above this one
	Limit  int   // 1 … 1000, the newest ones; 0 = 100
}

// Selects says whether it selects a decision, whatever its number.
func (f *DecidedFilter) Selects(d *Decided) bool {
	return (f.Task == 0 || d.Task == f.Task) && (f.Job == 0 || d.Job == f.Job) && (f.Queue == "" || d.Queue == f.Queue) &&
		(f.Share == "" || d.Share == f.Share || strings.HasPrefix(d.Share, f.Share+"/"))
}

// Lately is recent decisions, the newest first.
type Lately struct {
	Daemon int64      `json:"daemon" doc:"The daemon that made them."`
	Last   int64      `json:"last" doc:"Number of its newest one, whether it was selected or not."`
	Since  *time.Time `json:"since,omitempty" doc:"The oldest that it still has in memory; absent: there was none since it began."`
	Items  []Decided  `json:"items"`
}

// Lately lists what a filter selects.
func (r *Recent) Lately(f DecidedFilter) Lately {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	out := Lately{Daemon: r.Daemon, Last: r.last, Items: []Decided{}}
	if n := len(r.ring); n > 0 {
		at := r.ring[(r.last-int64(n))%keptDecisions].At
		out.Since = &at
	}
	after := r.last - int64(len(r.ring))
	if f.Daemon == r.Daemon {
		after = max(after, f.After)
	}
	for n := r.last; n > after && len(out.Items) < limit; n-- {
		if d := &r.ring[(n-1)%keptDecisions]; f.Selects(d) {
			out.Items = append(out.Items, *d)
		}
	}
	return out
}

// Fare counts how two shares, with all below them, fared against each other. Decisions are the oldest first.
type Fare struct {
	A, B  string // paths
	Fared explain.Fared
}

// Add counts a decision.
func (f *Fare) Add(d Decided) {
	if f.Fared.Decisions++; f.Fared.Oldest == nil {
		f.Fared.Oldest = &d.At
	}
	duel := func(u *explain.Duel, won *int64, second string) {
		if *won++; !covers(second, d.RunnerUp) || d.Second == nil {
			return
		}
		u.Times++
		u.Deficit, u.RunnerUpDeficit = mean(u.Deficit, d.Deficit, u.Times), mean(u.RunnerUpDeficit, *d.Second, u.Times)
		u.Last = &d.At
	}
	switch {
	case covers(f.A, d.Share):
		duel(&f.Fared.ABeforeB, &f.Fared.AWon, f.B)
	case covers(f.B, d.Share):
		duel(&f.Fared.BBeforeA, &f.Fared.BWon, f.A)
	}
}

// covers says whether a share is another one or below it.
func covers(top, share string) bool { return share == top || strings.HasPrefix(share, top+"/") }

// mean returns the mean of n values: the last is v, before is the mean of the others.
func mean(before *float64, v float64, n int64) *float64 {
	if before != nil {
		v = (*before*float64(n-1) + v) / float64(n)
	}
	return &v
}
