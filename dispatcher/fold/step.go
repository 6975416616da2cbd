package fold

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Lease is a row of held: a grant that has not ended.
type Lease struct {
	entry.Granted
	GrantedAt    time.Time
	StartDelayMS int32 // from the grant until its pilot said that it runs; -1: it has not
	Reason       string
	GraceS       int32 // with Reason, of the order to end; empty: there is none
}

// Attempt is a row of history: a lease that ended.
type Attempt struct {
	Lease
	EndedAt  time.Time
	Outcome  entry.Outcome
	State    State // of the job from then on
	ExitCode int32
	CPUMilli int64 // within the bounds of what is believed, as MemoryMB
	MemoryMB int32
}

// Known is what the tables say about what a step names.
type Known struct {
	Leases map[int64]Lease  // by job: those of Needs.EndedJobs and Needs.Jobs
	Ranges []Range          // at least those with ids of the spans of Needs, in any order, maybe twice
	Users  map[int64]string // by task: of Needs.Tasks and of the leases
	Cores  map[int32]int64  // by shape: of Needs.Shapes and of the leases
}

// Changes are what a step makes of the tables.
type Changes struct {
	Granted  []Lease // new, and not ended within the step
	Ended    []int64 // jobs whose lease was there before
	Altered  []Lease // that stay, but started or were revoked
	History  []Attempt
	Ranges   RangeChanges
	Expected []Expected
	Latest   []Latest
	Sums     Sums
	Odd      []string // what did not fit, the first few
	Odds     int      // how many did not
}

// Expected changes how many jobs generators have still to make.
type Expected struct {
	Share shares.ShareID
	Shape int32
	Set   bool  // Jobs replaces what was there
	Jobs  int64 // is added otherwise; the sum is never below 0
}

// Latest is the newest entry of a kind and key.
type Latest struct {
	Kind  entry.Kind
	Key   int64
	Entry string // as JSON
}

// mostOdd bounds Changes.Odd.
const mostOdd = 10

// Bounds of what an attempt may have used: 30 years of a core, and a petabyte. A pilot that says more has miscounted.
const (
	mostCPUMilli = 1_000_000_000_000
	mostMemoryMB = 1_000_000_000
)

// step folds batches into the rows that it was given.
type step struct {
	at      time.Time
	before  ranges
	ranges  ranges
	live    map[int64]*lease
	known   Known
	users   map[int64]string // of tasks that are enqueued in the step
	cores   map[int32]int64  // of shapes that are told in the step
	history []Attempt
	ended   []int64
	waited  map[shareShape]*Expected
	latest  map[Latest]string // by kind and key alone
	sums    sums
	odd     []string
	odds    int
}

// lease is a Lease within a step.
type lease struct {
	Lease
	isNew   bool
	altered bool
}

// Build returns what the batches make of the tables. It does not change what is known, nor keep it.
func Build(batches []entry.Batch, known Known) Changes {
	s := newStep(known)
	for _, b := range batches {
		s.batch(b)
	}
	return s.changes()
}

func newStep(known Known) *step {
	s := &step{known: known, live: make(map[int64]*lease, len(known.Leases)), users: map[int64]string{}, cores: map[int32]int64{},
		sums: newSums(), waited: map[shareShape]*Expected{}, latest: map[Latest]string{}}
	for job, l := range known.Leases {
		s.live[job] = &lease{Lease: l}
	}
	s.before = slices.Clone(known.Ranges)
	slices.SortFunc(s.before, byHigh)
	s.before = slices.CompactFunc(s.before, func(a, b Range) bool { return a.High == b.High })
	s.ranges = slices.Clone(s.before)
	return s
}

func (s *step) batch(b entry.Batch) {
	s.at = b.At
	for _, e := range b.Entries {
		s.apply(e)
	}
}

func (s *step) apply(e entry.Entry) {
	switch e := e.(type) {
	case entry.Enqueued:
		s.enqueued(e)
	case entry.Granted:
		s.granted(e)
	case entry.Started:
		if l := s.lease(e.Job, e.Attempt, "start"); l != nil && l.StartDelayMS < 0 {
			l.StartDelayMS, l.altered = delay(l.GrantedAt, s.at), true
		}
	case entry.Revoked:
		if l := s.lease(e.Job, e.Attempt, "revocation"); l != nil {
			l.Reason, l.GraceS, l.altered = e.Reason, e.GraceS, true
		}
	case entry.Ended:
		s.end(e)
	case entry.Withdrew:
		s.withdrew(e)
	case entry.Expected:
		s.waited[shareShape{e.Share, e.Shape}] = &Expected{e.Share, e.Shape, true, max(0, e.Jobs)}
	case entry.Shaped:
		s.cores[e.Shape] = int64(e.Need.Cores)
		s.newest(e, int64(e.Shape))
	case entry.Polled:
		s.newest(e, int64(e.Queue))
	case entry.Adopted, entry.Bounded, entry.Leader, entry.Tick:
		s.newest(e, 0)
	}
}

func (s *step) newest(e entry.Entry, key int64) {
	text, err := json.Marshal(e)
	if err != nil {
		s.misfit("%T cannot be written: %v", e, err)
		return
	}
	s.latest[Latest{Kind: entry.KindOf(e), Key: key}] = string(text)
}

// misfit notes an entry that does not fit what was known.
func (s *step) misfit(format string, args ...any) {
	s.odds++
	if len(s.odd) < mostOdd {
		s.odd = append(s.odd, fmt.Sprintf(format, args...))
	}
}

func (s *step) enqueued(e entry.Enqueued) {
	s.users[e.Task] = e.User
	s.sums.tasks.of(e.Task).user = e.User
	isNew := e.Attempt == 1
	for _, r := range s.add(Range{e.Low, e.High, Like{e.Task, e.Place, e.Share, e.Shape, e.Attempt, Ready}}) {
		if r.State == Ready || r.Task != e.Task {
			s.misfit("jobs %d to %d are enqueued, of which %d to %d were %c of task %d", e.Low, e.High, r.Low, r.High, r.State, r.Task)
		}
		isNew = false
	}
	if isNew { // what moves was counted when it was made
		w := s.waited[shareShape{e.Share, e.Shape}]
		if w == nil {
			w = &Expected{Share: e.Share, Shape: e.Shape}
			s.waited[shareShape{e.Share, e.Shape}] = w
		}
		w.Jobs -= e.Jobs()
		if w.Set {
			w.Jobs = max(0, w.Jobs)
		}
	}
}

func (s *step) withdrew(e entry.Withdrew) {
	for _, r := range s.take(e.Low, e.High, func(r Range) bool { return r.State == Ready && r.Task == e.Task }) {
		r.State = Withdrawn
		s.add(r)
	}
}

// granted gives a job its lease. One that is not ready gets none: whether it has one from before, the step may not know.
func (s *step) granted(e entry.Granted) {
	like := Like{e.Task, e.Place, e.Share, e.Shape, e.Attempt, Ready}
	was, ok := s.ranges.find(e.Job)
	if !ok || was.Like != like {
		s.misfit("job %d attempt %d is granted, which was not ready there", e.Job, e.Attempt)
	}
	if !ok || was.State != Ready || was.Task != e.Task {
		return
	}
	s.take(e.Job, e.Job, func(Range) bool { return true })
	s.live[e.Job] = &lease{Lease: Lease{Granted: e, GrantedAt: s.at, StartDelayMS: -1}, isNew: true}
	s.sums.hold(e, +1)
}

// lease is that of an attempt; nil, and told as odd, when it has none.
func (s *step) lease(job int64, attempt int32, what string) *lease {
	l := s.live[job]
	if l == nil || l.Attempt != attempt {
		s.misfit("%s of job %d attempt %d, which has no lease", what, job, attempt)
		return nil
	}
	return l
}

func (s *step) end(e entry.Ended) {
	l := s.lease(e.Job, e.Attempt, "end")
	if l == nil {
		return
	}
	a := Attempt{Lease: l.Lease, EndedAt: s.at, Outcome: e.Outcome, State: stateAfter(e, l.Reason), ExitCode: e.ExitCode,
		CPUMilli: min(max(0, e.CPUMilli), mostCPUMilli), MemoryMB: int32(min(max(0, e.MemoryMB), mostMemoryMB))}
	s.history = append(s.history, a)
	delete(s.live, e.Job)
	if !l.isNew {
		s.ended = append(s.ended, e.Job)
	}
	s.sums.hold(l.Granted, -1)
	s.sums.end(a, either(s.cores, s.known.Cores, l.Shape), either(s.users, s.known.Users, l.Task))
	if a.State == Ready || a.State == Waiting {
		s.add(Range{e.Job, e.Job, Like{l.Task, l.Place, l.Share, l.Shape, l.Attempt + 1, a.State}})
	}
}

// stateAfter is where a job stands after an attempt. One that was to end, and did, is cancelled, however its pilot says it.
func stateAfter(e entry.Ended, revoked string) State {
	switch {
	case e.Next == entry.Again:
		return Ready
	case e.Next == entry.Waits:
		return Waiting
	case e.Outcome == entry.Finished:
		return Finished
	case e.Outcome == entry.Cancelled, e.Outcome == entry.Returned, revoked != "":
		return Cancelled
	}
	return Failed
}

// add puts idle jobs in, and counts them.
func (s *step) add(r Range) (displaced []Range) {
	displaced = s.ranges.add(r)
	for _, d := range displaced {
		s.sums.idle(d, -1)
	}
	s.sums.idle(r, +1)
	return displaced
}

// take removes idle jobs, and counts that.
func (s *step) take(low, high int64, fits func(Range) bool) (taken []Range) {
	taken = s.ranges.take(low, high, fits)
	for _, r := range taken {
		s.sums.idle(r, -1)
	}
	return taken
}

func delay(from, to time.Time) int32 {
	return int32(min(max(0, to.Sub(from).Milliseconds()), 1<<31-1))
}

// either is the value of a key in the first map that has it.
func either[K comparable, V any](first, second map[K]V, key K) V {
	if v, ok := first[key]; ok {
		return v
	}
	return second[key]
}
