package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Lease is a row of held: a grant that has not ended.
type Lease struct {
	entry.Granted
	Nth          int64 // of the grant
	GrantedAt    time.Time
	StartDelayMS int32 // from the grant until its pilot said that it runs; -1: it has not
	TTLS         int32 // seconds that its renewals ask for; 0: the default
	Reason       string
	GraceS       int32 // with Reason, of the order to end it alone; empty: there is none, but see Kill
}

// Attempt is a row of history: a lease that ended. Its Share is the one that it was charged to in the end.
type Attempt struct {
	Lease
	EndedAt  time.Time
	Outcome  entry.Outcome
	State    State // of the job from then on
	ExitCode int32
	CPUMilli int64 // within the bounds of what is believed, as MemoryMB
	MemoryMB int32
}

// Over is a row of over_ranges: jobs that were over without a lease, killed or given up.
type Over struct {
	Low   int64
	High  int64
	Task  int64
	Nth   int64
	At    time.Time
	State State
}

// Known is what the tables say about what a step names.
type Known struct {
	Leases map[int64]Lease  // by job: those of Needs.Ended and Needs.Jobs
	Ranges []Range          // at least those with ids of the spans of Needs, in any order, maybe twice
	Users  map[int64]string // by task: of Needs.Tasks and of the leases
	Cores  map[int32]int64  // by shape: of Needs.Shapes and of the leases
	Tasks  Tasks            // of Needs.Tasks, of its verbs and of the leases
	Moved  map[int64]Moved  // by Nth of an entry.Moved: what it does to leases that are not in Leases
	Claims Claims           // that the step may change
}

// Changes are what a step makes of the tables.
type Changes struct {
	Granted  []Lease // new, and not ended within the step
	Ended    []int64 // jobs whose lease was there before
	Altered  []Lease // that stay, but started or were revoked
	History  []Attempt
	Over     []Over
	Ranges   RangeChanges
	Tasks    TaskChanges
	Claims   ClaimChanges
	Expected []Expected
	Latest   []Latest
	Sums     Sums
	Odd      []string // what did not fit, the first few
	Odds     int      // how many did not
}

// Expected changes how many jobs generators have still to make: n become max(Least, n+Jobs), which any row of such changes is as well.
type Expected struct {
	Share shares.ShareID
	Shape int32
	Jobs  int64
	Least int64
}

// add is for so many more or less, but never below 0.
func (e *Expected) add(n int64) { e.Jobs, e.Least = e.Jobs+n, max(0, e.Least+n) }

// set is for a number, whatever there was.
func (e *Expected) set(n int64) { e.Jobs, e.Least = math.MinInt64/2, max(0, n) }

// Latest is the newest entry of a kind, key and name.
type Latest struct {
	Kind  entry.Kind
	Key   int64
	Name  string
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
	nth     int64 // of the entry at hand
	before  ranges
	ranges  ranges
	live    map[int64]*lease
	known   Known
	tasks   Tasks
	claims  *claims
	history []Attempt
	ended   []int64
	over    []Over
	waited  map[shareShape]*Expected
	latest  map[Latest]string // by kind, key and name alone
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

// Nth tells the entries of the log apart, in their order: it is that of the entry with this index in the batch.
func Nth(seq int64, index int) int64 { return seq<<nthBits + min(int64(index), 1<<nthBits-1) }

// nthBits has room for a million entries a batch; those behind share the last Nth.
const nthBits = 20

// Build returns what the batches make of the tables. It does not change what is known, nor keep it; Users and Cores learn what entries tell.
func Build(batches []entry.Batch, known Known) Changes {
	s := newStep(known)
	for _, b := range batches {
		s.batch(b)
	}
	return s.changes()
}

func newStep(known Known) *step {
	s := &step{known: known, live: make(map[int64]*lease, len(known.Leases)),
		sums: newSums(), waited: map[shareShape]*Expected{}, latest: map[Latest]string{}, tasks: known.Tasks.clone()}
	for job, l := range known.Leases {
		s.live[job] = &lease{Lease: l}
	}
	s.before = slices.Clone(known.Ranges)
	slices.SortFunc(s.before, byHigh)
	s.before = slices.CompactFunc(s.before, func(a, b Range) bool { return a.High == b.High })
	s.ranges = slices.Clone(s.before)
	var err error
	if s.claims, err = newClaims(known.Claims); err != nil {
		s.misfit("claims: %v", err)
	}
	return s
}

func (s *step) batch(b entry.Batch) {
	s.at = b.At
	for i, e := range b.Entries {
		s.nth = Nth(b.Seq, i)
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
			l.StartDelayMS, l.TTLS, l.altered = delay(l.GrantedAt, s.at), e.TTLS, true
		}
	case entry.Lasting:
		if l := s.lease(e.Job, e.Attempt, "a TTL"); l != nil {
			l.TTLS, l.altered = e.TTLS, true
		}
	case entry.Revoked:
		if l := s.lease(e.Job, e.Attempt, "revocation"); l != nil {
			l.Reason, l.GraceS, l.altered = e.Reason, e.GraceS, true
		}
	case entry.Ended:
		s.end(e)
	case entry.Paused:
		s.pause(e.Task, true)
	case entry.Resumed:
		s.pause(e.Task, false)
	case entry.Killed:
		s.killed(e)
	case entry.Closed:
		s.closed(e)
	case entry.Placed:
		s.moved(Move{Task: e.Task, Low: e.Low, High: e.High, Place: e.Place})
	case entry.Moved:
		s.moved(Move{Task: e.Task, Low: e.Low, High: e.High, From: e.From, Share: e.Share, Place: e.Place, Running: e.Running})
	case entry.Claimed, entry.Unclaimed, entry.Joined, entry.Dropped, entry.Took:
		s.claim(e)
	case entry.Expected:
		s.expected(e)
	default:
		s.told(e)
	}
}

// told keeps the newest of entries that have no table.
func (s *step) told(e entry.Entry) {
	key := Latest{Kind: entry.KindOf(e)}
	switch e := e.(type) {
	case entry.Shaped:
		s.known.Cores[e.Shape] = int64(e.Need.Cores)
		key.Key = int64(e.Shape)
	case entry.Polled:
		key.Key = int64(e.Queue)
	case entry.Reported:
		key.Key, key.Name = int64(e.Queue), e.Name
	case entry.Holed:
		key.Key = int64(e.Queue)
	case entry.Owed:
		key.Key, key.Name = int64(e.Share), e.Pool
	case entry.Stood:
		key.Name = e.Pool
	case entry.Adopted, entry.Tick:
		s.claim(e)
	case entry.Bounded, entry.Capped, entry.Leader:
	default:
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		s.misfit("%T cannot be written: %v", e, err)
		return
	}
	s.latest[key] = string(text)
}

// misfit notes an entry that does not fit what was known.
func (s *step) misfit(format string, args ...any) {
	s.odds++
	if len(s.odd) < mostOdd {
		s.odd = append(s.odd, fmt.Sprintf(format, args...))
	}
}

func (s *step) enqueued(e entry.Enqueued) {
	if e.User != "" { // else its writer did not find the task
		s.known.Users[e.Task], s.sums.task(e.Task).User = e.User, e.User
	}
	if e.Attempt > 1 {
		s.back(e)
		return
	}
	for _, r := range s.add(Range{e.Low, e.High, Like{e.Task, e.Place, e.Share, e.Shape, e.Attempt, s.tasks.of(e.Task).ready()}}) {
		s.misfit("jobs %d to %d are enqueued, of which %d to %d were %c of task %d", e.Low, e.High, r.Low, r.High, r.State, r.Task)
	}
	s.waitedOf(e.Share, e.Shape).add(-e.Jobs())
}

func (s *step) waitedOf(share shares.ShareID, shape int32) *Expected {
	return of(s.waited, shareShape{share, shape}, Expected{Share: share, Shape: shape})
}

func (s *step) expected(e entry.Expected) {
	w := s.waitedOf(e.Share, e.Shape)
	if e.More {
		w.add(e.Jobs)
	} else {
		w.set(e.Jobs)
	}
}

// back makes those jobs ready that wait for the attempt, where they stand by now. Others are over, whatever the rule thought.
func (s *step) back(e entry.Enqueued) {
	waits := func(r Range) bool { return r.State == Waiting && r.Task == e.Task && r.Attempt == e.Attempt }
	for _, r := range s.take(e.Low, e.High, waits) {
		r.Shape, r.State = e.Shape, s.tasks.of(e.Task).ready()
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
	if err := s.claims.grant(e, s.at); err != nil {
		s.misfit("job %d attempt %d is granted: %v", e.Job, e.Attempt, err)
		return
	}
	s.take(e.Job, e.Job, func(Range) bool { return true })
	s.live[e.Job] = &lease{Lease: Lease{Granted: e, Nth: s.nth, GrantedAt: s.at, StartDelayMS: -1}, isNew: true}
	s.tasks.of(e.Task).Held++
	s.sums.hold(e, +1)
	if t := s.sums.task(e.Task); t.BegunUS == 0 {
		t.BegunUS = s.at.UnixMicro()
	}
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
	if err := s.claims.end(e, s.at); err != nil {
		s.misfit("end of job %d attempt %d: %v", e.Job, e.Attempt, err)
	}
	task := s.tasks.of(l.Task)
	now := l.now(task.Moves)
	a := Attempt{Lease: l.Lease, EndedAt: s.at, Outcome: e.Outcome, State: stateAfter(e), ExitCode: e.ExitCode,
		CPUMilli: min(max(0, e.CPUMilli), mostCPUMilli), MemoryMB: int32(min(max(0, e.MemoryMB), mostMemoryMB))}
	a.Share = now.payer
	s.history = append(s.history, a)
	delete(s.live, e.Job)
	if !l.isNew {
		s.ended = append(s.ended, e.Job)
	}
	s.sums.hold(a.Granted, -1)
	s.sums.end(a, s.known.Cores[l.Shape], s.known.Users[l.Task], now.pieces)
	switch a.State {
	case Ready, Waiting:
		like := Like{l.Task, now.place, now.share, l.Shape, l.Attempt + 1, a.State}
		if like.State == Ready {
			like.State = task.ready()
		}
		s.add(Range{e.Job, e.Job, like})
	}
	task.release()
}

// stateAfter is where a job stands after an attempt.
func stateAfter(e entry.Ended) State {
	switch {
	case e.Next == entry.Again:
		return Ready
	case e.Next == entry.Waits:
		return Waiting
	case e.Next == entry.Undone, e.Outcome == entry.Cancelled:
		return Cancelled
	case e.Outcome == entry.Finished:
		return Finished
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

func byHigh(a, b Range) int { return cmp.Compare(a.High, b.High) }

func byJob(a, b Lease) int { return cmp.Compare(a.Job, b.Job) }

// changes are what the step has made, each list in an order that has its rows and their index entries side by side.
func (s *step) changes() Changes {
	c := Changes{Ended: s.ended, History: s.history, Over: s.over, Ranges: changes(s.before, s.ranges), Odd: s.odd, Odds: s.odds, Sums: s.sums.list(),
		Tasks: s.tasks.since(s.known.Tasks), Claims: s.claims.changes()}
	c.Granted = make([]Lease, 0, len(s.live)) // grown as they come, they cost a third of a step that has many
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
	c.Expected = sorted(s.waited, func(a, b Expected) int { return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape)) })
	for l, text := range s.latest {
		l.Entry = text
		c.Latest = append(c.Latest, l)
	}
	slices.SortFunc(c.Latest, func(a, b Latest) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name))
	})
	return c
}
