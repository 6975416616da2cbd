package fold

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// history draws a legal log, and knows by job what becomes of it: nothing is summed up before the end.
type history struct {
	*fixture
	jobs     map[int64]*modelJob
	attempts []Attempt
	expected map[entry.Expected]int64 // by share and shape
	latest   map[Latest]entry.Entry
	batch    []entry.Entry
	lastID   int64
}

// modelJob is a live job.
type modelJob struct {
	like  Like
	lease *Lease
}

func newHistory(f *fixture) *history {
	h := &history{fixture: f, jobs: map[int64]*modelJob{}, expected: map[entry.Expected]int64{}, latest: map[Latest]entry.Entry{}}
	for shape := range int32(3) {
		h.shaped(entry.Shaped{Shape: shape, Need: job.Requirements{Cores: int(1 + shape)}})
	}
	return h
}

func (h *history) add(e entry.Entry) { h.batch = append(h.batch, e) }

func (h *history) shaped(e entry.Shaped) {
	h.add(e)
	h.latest[Latest{Kind: entry.KindShaped, Key: int64(e.Shape)}] = e
}

func userOf(task int64) string { return fmt.Sprintf("user-%d", task%2) }

// pick draws one of the jobs that are so; 0: there is none.
func (h *history) pick(r *rapid.T, is func(*modelJob) bool) int64 {
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(h.jobs)) {
		if is(h.jobs[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0
	}
	if rapid.IntRange(0, 3).Draw(r, "the first") > 0 {
		return ids[0]
	}
	return rapid.SampledFrom(ids).Draw(r, "job")
}

// run is the jobs from id on that are alike, up to so many.
func (h *history) run(id int64, most int) (high int64) {
	for high = id; high-id < int64(most); high++ {
		if next := h.jobs[high+1]; next == nil || next.lease != nil || next.like != h.jobs[id].like {
			break
		}
	}
	return high
}

func isIdle(states ...State) func(*modelJob) bool {
	return func(j *modelJob) bool { return j.lease == nil && slices.Contains(states, j.like.State) }
}

func isHeld(j *modelJob) bool { return j.lease != nil }

func (h *history) enqueue(r *rapid.T) {
	e := entry.Enqueued{Task: rapid.Int64Range(1, 4).Draw(r, "task"), Share: shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share")),
		Shape: int32(rapid.IntRange(0, 2).Draw(r, "shape")), Place: rapid.Int64Range(-1, 0).Draw(r, "place"), Attempt: 1}
	e.Low = h.lastID + rapid.SampledFrom([]int64{1, 1, 2, 2 * near}).Draw(r, "gap")
	e.High = e.Low + rapid.Int64Range(0, 9).Draw(r, "more")
	e.User = userOf(e.Task)
	h.lastID = e.High
	h.ready(e)
	key := entry.Expected{Share: e.Share, Shape: e.Shape}
	if n, ok := h.expected[key]; ok {
		h.expected[key] = max(0, n-e.Jobs())
	}
}

func (h *history) ready(e entry.Enqueued) {
	h.add(e)
	for id := e.Low; id <= e.High; id++ {
		h.jobs[id] = &modelJob{like: Like{e.Task, e.Place, e.Share, e.Shape, e.Attempt, Ready}}
	}
}

// enqueueAgain is a rule that has decided, or a move that is done.
func (h *history) enqueueAgain(r *rapid.T) {
	id := h.pick(r, isIdle(Waiting, Withdrawn))
	if id == 0 {
		return
	}
	like := h.jobs[id].like
	h.ready(entry.Enqueued{Task: like.Task, Share: shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share")), Shape: like.Shape, Place: like.Place,
		Low: id, High: h.run(id, rapid.IntRange(0, 5).Draw(r, "more")), Attempt: max(2, like.Attempt), User: userOf(like.Task)})
}

func (h *history) withdraw(r *rapid.T) {
	id := h.pick(r, isIdle(Ready))
	if id == 0 {
		return
	}
	e := entry.Withdrew{Task: h.jobs[id].like.Task, Low: id - rapid.Int64Range(0, 2).Draw(r, "before"), High: id + rapid.Int64Range(0, 9).Draw(r, "after")}
	h.add(e)
	for id, j := range h.jobs {
		if id >= e.Low && id <= e.High && j.like.Task == e.Task && isIdle(Ready)(j) {
			j.like.State = Withdrawn
		}
	}
}

func (h *history) grant(r *rapid.T) {
	id := h.pick(r, isIdle(Ready))
	if id == 0 {
		return
	}
	j := h.jobs[id]
	e := entry.Granted{Job: id, Attempt: j.like.Attempt, Nonce: rapid.Int64().Draw(r, "nonce"), Task: j.like.Task, Share: j.like.Share,
		Shape: j.like.Shape, Place: j.like.Place, Queue: shares.QueueID(rapid.IntRange(1, 2).Draw(r, "queue")),
		Units: shares.Units(rapid.Int64Range(0, 3000).Draw(r, "units")), Pilot: rapid.SampledFrom([]string{"", "p1", "ü"}).Draw(r, "pilot"),
		Node: rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(r, "node"), Request: entry.ID{0: 1, 15: byte(id)}}
	h.add(e)
	j.lease = &Lease{Granted: e, GrantedAt: h.now, StartDelayMS: -1}
}

func (h *history) start(r *rapid.T) {
	id := h.pick(r, isHeld)
	if id == 0 {
		return
	}
	l := h.jobs[id].lease
	h.add(entry.Started{Job: id, Attempt: l.Attempt})
	if l.StartDelayMS < 0 {
		l.StartDelayMS = int32(h.now.Sub(l.GrantedAt) / time.Millisecond)
	}
}

func (h *history) revoke(r *rapid.T) {
	id := h.pick(r, isHeld)
	if id == 0 {
		return
	}
	l := h.jobs[id].lease
	l.Reason, l.GraceS = "killed", 30
	h.add(entry.Revoked{Job: id, Attempt: l.Attempt, Reason: l.Reason, GraceS: l.GraceS})
}

func (h *history) end(r *rapid.T) {
	id := h.pick(r, isHeld)
	if id == 0 {
		return
	}
	j := h.jobs[id]
	e := entry.Ended{Job: id, Attempt: j.lease.Attempt, Outcome: rapid.SampledFrom(outcomes[:]).Draw(r, "outcome"),
		Next:     rapid.SampledFrom([]entry.Next{entry.Over, entry.Over, entry.Again, entry.Waits}).Draw(r, "next"),
		ExitCode: int32(rapid.IntRange(-1, 255).Draw(r, "code")), CPUMilli: rapid.Int64Range(0, 1e9).Draw(r, "cpu"),
		MemoryMB: rapid.Int64Range(0, 1e6).Draw(r, "memory")}
	h.add(e)
	a := Attempt{Lease: *j.lease, EndedAt: h.now, Outcome: e.Outcome, ExitCode: e.ExitCode, CPUMilli: e.CPUMilli, MemoryMB: int32(e.MemoryMB)}
	j.lease, j.like.Attempt = nil, j.like.Attempt+1
	switch {
	case e.Next == entry.Again:
		a.State = Ready
	case e.Next == entry.Waits:
		a.State = Waiting
	case e.Outcome == entry.Finished:
		a.State = Finished
	case (e.Outcome == entry.Failed || e.Outcome == entry.Lost) && a.Reason == "":
		a.State = Failed
	default:
		a.State = Cancelled
	}
	j.like.State = a.State
	if e.Next == entry.Over {
		delete(h.jobs, id)
	}
	a.Reason, a.GraceS, a.Place, a.Request = "", 0, 0, entry.ID{} // which history has not
	h.attempts = append(h.attempts, a)
}

func (h *history) other(r *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(r, "kind") {
	case 0:
		e := entry.Tick{Now: h.now}
		h.add(e)
		h.latest[Latest{Kind: entry.KindTick}] = e
	case 1:
		e := entry.Leader{Address: rapid.SampledFrom([]string{"a:1", "b:2"}).Draw(r, "address")}
		h.add(e)
		h.latest[Latest{Kind: entry.KindLeader}] = e
	case 2:
		e := entry.Polled{Queue: shares.QueueID(rapid.IntRange(1, 2).Draw(r, "queue")), Is: rapid.Bool().Draw(r, "is")}
		h.add(e)
		h.latest[Latest{Kind: entry.KindPolled, Key: int64(e.Queue)}] = e
	case 3:
		e := entry.Adopted{Number: rapid.Int64Range(1, 1<<62).Draw(r, "number")}
		h.add(e)
		h.latest[Latest{Kind: entry.KindAdopted}] = e
	default:
		e := entry.Expected{Share: shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share")), Shape: int32(rapid.IntRange(0, 2).Draw(r, "shape")),
			Jobs: rapid.Int64Range(0, 20).Draw(r, "jobs")}
		h.add(e)
		h.expected[entry.Expected{Share: e.Share, Shape: e.Shape}] = e.Jobs
	}
}

// close appends the batch and lets time pass.
func (h *history) close(r *rapid.T) {
	h.append(r, h.batch...)
	h.batch = nil
	h.now = h.now.Add(time.Duration(rapid.SampledFrom([]int64{0, 999, 1_000_000, 7_123_456, 3_600_000_000, 20_000_000_000}).Draw(r, "µs")) * time.Microsecond)
}

// tables are what the fold has to make of it.
func (h *history) tables() (want tables) {
	tasks, byShare := map[int64]TaskCount{}, map[ShareCount]ShareCount{}
	for _, id := range slices.Sorted(maps.Keys(h.jobs)) {
		j := h.jobs[id]
		c := tasks[j.like.Task]
		key := ShareCount{Share: j.like.Share, Shape: j.like.Shape}
		switch {
		case j.lease != nil:
			want.Held = append(want.Held, *j.lease)
			key.Queue = j.lease.Queue
			s := byShare[key]
			s.Held++
			s.Units += j.lease.Units
			byShare[key] = s
			c.Held++
		default:
			if n := len(want.Ranges); n > 0 && want.Ranges[n-1].Like == j.like && want.Ranges[n-1].High == id-1 {
				want.Ranges[n-1].High = id
			} else {
				want.Ranges = append(want.Ranges, Range{id, id, j.like})
			}
			switch j.like.State {
			case Ready:
				s := byShare[key]
				s.Ready++
				byShare[key] = s
				c.Ready++
			case Waiting:
				c.Waiting++
			case Withdrawn:
				c.Withdrawn++
			}
		}
		tasks[j.like.Task] = c
	}
	want.History = h.attempts
	for _, a := range h.attempts {
		c := tasks[a.Task]
		switch a.State {
		case Finished:
			c.Finished++
		case Failed:
			c.Failed++
		case Cancelled:
			c.Cancelled++
		}
		tasks[a.Task] = c
	}
	for id, c := range tasks {
		c.Task, c.User = id, userOf(id)
		want.Sums.Tasks = append(want.Sums.Tasks, c)
	}
	for key, c := range byShare {
		if c.Held+c.Ready != 0 {
			c.Share, c.Shape, c.Queue = key.Share, key.Shape, key.Queue
			want.Sums.Shares = append(want.Sums.Shares, c)
		}
	}
	for key, n := range h.expected {
		if n > 0 {
			want.Expected = append(want.Expected, entry.Expected{Share: key.Share, Shape: key.Shape, Jobs: n})
		}
	}
	want.Nodes = h.usage(&want.Sums)
	return want
}

// usage looks at every hour that anything ended in or ran, for each attempt.
func (h *history) usage(s *Sums) (nodes []Usage) {
	ends := map[EndCount]int64{}
	uses := [4]map[UsageKey]Usage{{}, {}, {}, {}}
	for _, a := range h.attempts {
		begin, end := a.GrantedAt.Truncate(time.Millisecond), a.EndedAt.Truncate(time.Millisecond)
		last := end.Truncate(time.Hour)
		ends[EndCount{HourMS: last.UnixMilli(), Share: a.Share, Shape: a.Shape, Queue: a.Queue, Outcome: a.Outcome, State: a.State}]++
		for hour := begin.Truncate(time.Hour); !hour.After(last); hour = hour.Add(time.Hour) {
			ms := max(0, min(end.UnixMilli(), hour.Add(time.Hour).UnixMilli())-max(begin.UnixMilli(), hour.UnixMilli()))
			u := Usage{SlotMS: int64(1+a.Shape) * ms, UnitMS: int64(a.Units) * ms}
			if slices.Contains([]entry.Outcome{entry.Failed, entry.Lost, entry.Returned}, a.Outcome) {
				u.WastedMS = u.SlotMS
			}
			if hour.Equal(last) {
				u.CPUMilli = a.CPUMilli
				u.Outcomes[slices.Index(outcomes[:], a.Outcome)]++
			}
			day, endDay := hour.Truncate(24*time.Hour).UnixMilli(), last.Truncate(24*time.Hour).UnixMilli()
			for i, key := range []UsageKey{
				{AtMS: hour.UnixMilli(), Share: a.Share, Queue: a.Queue, Name: userOf(a.Task)},
				{AtMS: day, Share: a.Share, Queue: a.Queue, Name: userOf(a.Task)},
				{AtMS: day, Task: a.Task, Share: a.Share},
				{AtMS: endDay, Queue: a.Queue, Name: a.Node}} {
				if i == 3 && !a.EndedAt.Before(h.last.At) {
					continue // not yet
				}
				sum := uses[i][key]
				sum.UsageKey = key
				sum.add(u)
				uses[i][key] = sum
			}
		}
	}
	for c, n := range ends {
		c.N = n
		s.Ends = append(s.Ends, c)
	}
	for i, list := range []*[]Usage{&s.Hours, &s.Days, &s.TaskUsage, &nodes} {
		*list = slices.Collect(maps.Values(uses[i]))
	}
	return nodes
}
