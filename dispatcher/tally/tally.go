package tally

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// Tally counts events. The zero one is empty.
type Tally struct {
	Appends Histogram // seconds of an append with grants
	Grants  Histogram // jobs in one of these
	Decides Histogram // seconds to decide a batch of pulls that got jobs
	Pulls   Histogram // seconds of a pull that got jobs
	Ages    Histogram // seconds since a lease was renewed, when it would have run out without
	Renewed Histogram // leases that were renewed in one step
	Ended   Histogram // leases that end in one append

	Waits   map[Wait]Histogram // seconds until the first lease of a job
	Ends    map[End]int64      // attempts
	Refused map[string]int64   // pulls, by reason
	Judged  map[Judged]int64   // attempts
	Closed  map[string]int64   // orders to give units back that are over, by how

	Expired int64   // leases
	Passed  int64   // times that a share was not waited for
	Ordered int64   // jobs that are to end, to give units back
	Lost    float64 // units times seconds that revoked attempts had held
}

// Wait is whose wait it was.
type Wait struct {
	Pool  string
	Share shares.ShareID
}

// End is how and where an attempt ended.
type End struct {
	Share   shares.ShareID
	Queue   shares.QueueID
	Outcome string
}

// Judged is a judgement on an attempt that failed or was lost.
type Judged struct{ Rule, Verdict string }

// Add adds what another has counted.
func (t *Tally) Add(o Tally) {
	for _, pair := range [][2]*Histogram{{&t.Appends, &o.Appends}, {&t.Grants, &o.Grants}, {&t.Decides, &o.Decides}, {&t.Pulls, &o.Pulls},
		{&t.Ages, &o.Ages}, {&t.Renewed, &o.Renewed}, {&t.Ended, &o.Ended}} {
		pair[0].add(*pair[1])
	}
	for key, h := range o.Waits {
		sum := t.Waits[key]
		sum.add(h)
		set(&t.Waits, key, sum)
	}
	merge(&t.Ends, o.Ends)
	merge(&t.Refused, o.Refused)
	merge(&t.Judged, o.Judged)
	merge(&t.Closed, o.Closed)
	t.Expired, t.Passed, t.Ordered, t.Lost = t.Expired+o.Expired, t.Passed+o.Passed, t.Ordered+o.Ordered, t.Lost+o.Lost
}

func set[K comparable, V any](to *map[K]V, key K, v V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = v
}

// bump counts one more.
func bump[K comparable](m *map[K]int64, key K) {
	if *m == nil {
		*m = map[K]int64{}
	}
	(*m)[key]++
}

func merge[K comparable](to *map[K]int64, from map[K]int64) {
	if *to == nil {
		*to = maps.Clone(from)
		return
	}
	for key, n := range from {
		(*to)[key] += n
	}
}

// Append counts an append that took so many seconds, with so many grants and ends.
func (t *Tally) Append(seconds float64, grants, ends int) {
	if grants > 0 {
		t.Appends.observe(AppendBounds, seconds)
		t.Grants.observe(GrantBounds, float64(grants))
	}
	if ends > 0 {
		t.Ended.observe(TogetherBounds, float64(ends))
	}
}

// Decide counts a batch of pulls that was decided in so many seconds.
func (t *Tally) Decide(seconds float64) { t.Decides.observe(DecideBounds, seconds) }

// Pull counts a pull that got its jobs after so many seconds.
func (t *Tally) Pull(seconds float64) { t.Pulls.observe(PullBounds, seconds) }

// Renew counts leases that were renewed in one step.
func (t *Tally) Renew(leases int) { t.Renewed.observe(TogetherBounds, float64(leases)) }

// Age counts a lease that was renewed so many seconds ago, when it would have run out without.
func (t *Tally) Age(seconds float64) { t.Ages.observe(AgeBounds, seconds) }

// Wait counts a job that has its first lease so many seconds after its task was submitted. Clocks of hosts differ: it may be below 0.
func (t *Tally) Wait(pool string, share shares.ShareID, seconds float64) {
	h := t.Waits[Wait{pool, share}]
	h.observe(WaitBounds, max(0, seconds))
	set(&t.Waits, Wait{pool, share}, h)
}

// outcomes are what outcomes are called in metrics.
var outcomes = map[entry.Outcome]string{entry.Finished: "finished", entry.Failed: "failed", entry.Lost: "lost", entry.Cancelled: "cancelled",
	entry.Returned: "revoked"}

// Outcomes are the names of all outcomes.
func Outcomes() []string { return slices.Sorted(maps.Values(outcomes)) }

// End counts an attempt that ended.
func (t *Tally) End(share shares.ShareID, queue shares.QueueID, outcome entry.Outcome) {
	bump(&t.Ends, End{share, queue, outcomes[outcome]})
}

// NoJob is the reason of a pull for which nothing was ready.
const NoJob = "no_job"

// Refuse counts a pull that got no job, by what kept jobs back; empty: nothing was ready that its slot may run.
func (t *Tally) Refuse(by gate.Gate) {
	reason := string(by)
	switch {
	case by == "", by == gate.Site:
		reason = NoJob
	case by == gate.GangHold, reason == "black_hole", strings.HasPrefix(reason, "resource_"):
	default:
		reason += "_limit"
	}
	bump(&t.Refused, reason)
}

// Judge counts what was said of an attempt that failed or was lost.
func (t *Tally) Judge(j retry.Judgement) {
	verdict := "again"
	switch {
	case j.Quarantine:
		verdict = "quarantined"
	case j.Over:
		verdict = "failed"
	case j.Backoff > 0:
		verdict = "later"
	}
	bump(&t.Judged, Judged{j.Rule, verdict})
	for _, rule := range j.Rehearsed {
		bump(&t.Judged, Judged{rule, "dry_run"})
	}
}

// Close counts an order to give units back that is over: its attempt ended, and had held so many units times seconds. Confirmed says that
// its pilot returned it; else it was revoked without the pilot's word, or had another outcome before.
func (t *Tally) Close(outcome entry.Outcome, confirmed bool, lost float64) {
	how := cmp.Or(outcomes[outcome], "unknown")
	if outcome == entry.Returned && confirmed {
		how = "confirmed"
	}
	bump(&t.Closed, how)
	if outcome == entry.Returned {
		t.Lost += lost
	}
}

// Bounds of the histograms: the largest value of each bucket but the last.
var (
	AppendBounds   = powers(0.0005, 2, 14)
	GrantBounds    = powers(1, 2, 10)
	TogetherBounds = powers(1, 4, 6)
	DecideBounds   = powers(0.00005, 4, 8)
	PullBounds     = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
	AgeBounds      = []float64{1, 5, 15, 30, 45, 60, 90, 120, 180, 240, 600}
	WaitBounds     = []float64{.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}
)

func powers(first, factor float64, n int) (list []float64) {
	for range n {
		list = append(list, first)
		first *= factor
	}
	return list
}

// Histogram counts values by bucket.
type Histogram struct {
	Counts []uint64 // by bucket; the last one has what is above all bounds. None: nothing was counted
	Sum    float64
}

func (h *Histogram) observe(bounds []float64, v float64) {
	if h.Counts == nil {
		h.Counts = make([]uint64, len(bounds)+1)
	}
	h.Counts[sort.SearchFloat64s(bounds, v)]++
	h.Sum += v
}

func (h *Histogram) add(o Histogram) {
	h.Sum += o.Sum
	if h.Counts == nil {
		h.Counts = slices.Clone(o.Counts)
		return
	}
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
}
