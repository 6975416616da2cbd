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
	attempts []modelAttempt
	over     []Over // of one job each
	paused   map[int64]bool
	kills    []Kill
	moves    []Move
	expected map[entry.Expected]int64 // by share and shape
	latest   map[Latest]entry.Entry
	batch    []entry.Entry
	lastID   int64
	claims   modelClaims
}

// modelJob is a live job.
type modelJob struct {
	like   Like
	lease  *Lease
	payer  shares.ShareID // of the lease
	pieces []piece
}

// modelAttempt is an attempt with whoever paid before its share.
type modelAttempt struct {
	Attempt
	pieces []piece
}

func newHistory(f *fixture) *history {
	h := &history{fixture: f, jobs: map[int64]*modelJob{}, paused: map[int64]bool{}, claims: newModelClaims(), expected: map[entry.Expected]int64{}, latest: map[Latest]entry.Entry{}}
	h.add(entry.Tick{Now: h.now}) // as a leader begins: claims take no time before it for one
	h.latest[Latest{Kind: 't'}] = entry.Tick{Now: h.now}
	h.claims.tick(entry.Tick{Now: h.now})
	h.add(entry.Adopted{Number: 2})
	h.latest[Latest{Kind: 'a'}] = entry.Adopted{Number: 2}
	for shape := range int32(3) {
		h.shaped(entry.Shaped{Shape: shape, Need: job.Requirements{Cores: int(1 + shape)}})
	}
	return h
}

func (h *history) add(e entry.Entry) { h.batch = append(h.batch, e) }

// nth is that of the next entry.
func (h *history) nth() int64 { return Nth(h.fixture.last.Seq+1, len(h.batch)) }

func (h *history) shaped(e entry.Shaped) {
	h.add(e)
	h.latest[Latest{Kind: 'h', Key: int64(e.Shape)}] = e
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
	h.join(r, e)
	h.ready(e)
	key := entry.Expected{Share: e.Share, Shape: e.Shape}
	if n, ok := h.expected[key]; ok {
		h.expected[key] = max(0, n-e.Jobs())
	}
}

func (h *history) readyState(task int64) State {
	if h.paused[task] {
		return Paused
	}
	return Ready
}

func (h *history) ready(e entry.Enqueued) {
	h.add(e)
	for id := e.Low; id <= e.High; id++ {
		h.jobs[id] = &modelJob{like: Like{e.Task, e.Place, e.Share, e.Shape, e.Attempt, h.readyState(e.Task)}}
	}
}

// enqueueAgain is a rule that has decided.
func (h *history) enqueueAgain(r *rapid.T) {
	id := h.pick(r, isIdle(Waiting))
	if id == 0 {
		return
	}
	like := h.jobs[id].like
	e := entry.Enqueued{Task: like.Task, Share: shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share")), Shape: int32(rapid.IntRange(0, 2).Draw(r, "shape")),
		Place: rapid.Int64Range(-1, 0).Draw(r, "place"), Low: id, High: id + rapid.Int64Range(0, 5).Draw(r, "more"), Attempt: like.Attempt, User: userOf(like.Task)}
	h.add(e)
	h.each(e.Task, e.Low, e.High, func(_ int64, j *modelJob) {
		if j.lease == nil && j.like.State == Waiting && j.like.Attempt == e.Attempt {
			j.like.Shape, j.like.State = e.Shape, h.readyState(e.Task)
		}
	})
}

// span draws ids about which a verb is, and the task of it.
func (h *history) span(r *rapid.T) (task, low, high int64) {
	task, low = rapid.Int64Range(1, 4).Draw(r, "task"), rapid.Int64Range(0, h.lastID).Draw(r, "low")
	if id := h.pick(r, isHeld); id != 0 && rapid.IntRange(0, 3).Draw(r, "of a lease") > 0 {
		task, low = h.jobs[id].like.Task, rapid.SampledFrom([]int64{0, id}).Draw(r, "from")
	}
	high = low + rapid.SampledFrom([]int64{0, 3, 20, 2 * wide, 1<<63 - 1 - low}).Draw(r, "to")
	return task, low, high
}

// each visits the jobs of a task in a range, in order.
func (h *history) each(task, low, high int64, fn func(id int64, j *modelJob)) {
	for _, id := range slices.Sorted(maps.Keys(h.jobs)) {
		if j := h.jobs[id]; j.like.Task == task && low <= id && id <= high {
			fn(id, j)
		}
	}
}

func (h *history) pause(r *rapid.T) {
	task := rapid.Int64Range(1, 4).Draw(r, "task")
	from, to := Ready, Paused
	if rapid.Bool().Draw(r, "resume") {
		from, to = Paused, Ready
		delete(h.paused, task)
		h.add(entry.Resumed{Task: task})
	} else {
		h.paused[task] = true
		h.add(entry.Paused{Task: task})
	}
	h.each(task, 0, maxID, func(_ int64, j *modelJob) {
		if j.lease == nil && j.like.State == from {
			j.like.State = to
		}
	})
}

func (h *history) kill(r *rapid.T) {
	task, low, high := h.span(r)
	nth, held := h.nth(), false
	e := entry.Killed{Task: task, Low: low, High: high, Reason: "killed", GraceS: 5, Idle: rapid.Bool().Draw(r, "idle")}
	h.add(e)
	h.each(task, 0, maxID, func(id int64, j *modelJob) {
		held = held || j.lease != nil
		if low <= id && id <= high && j.lease == nil {
			h.finish(id, nth, Cancelled)
		}
	})
	if held {
		h.kills = slices.DeleteFunc(h.kills, func(k Kill) bool { return k.Task == task && low <= k.Low && k.High <= high && (k.Idle || !e.Idle) })
		h.kills = append(h.kills, Kill{nth, task, low, high, e.Reason, e.GraceS, e.Idle})
	}
}

func (h *history) closeWaiting(r *rapid.T) {
	task, low, high := h.span(r)
	nth := h.nth()
	h.add(entry.Closed{Task: task, Low: low, High: high})
	h.each(task, low, high, func(id int64, j *modelJob) {
		if j.lease == nil && j.like.State == Waiting {
			h.finish(id, nth, Failed)
		}
	})
}

// finish has an idle job be over.
func (h *history) finish(id, nth int64, state State) {
	h.over = append(h.over, Over{id, id, h.jobs[id].like.Task, nth, h.now, state})
	h.claims.drop(id)
	delete(h.jobs, id)
}

func (h *history) place(r *rapid.T) {
	task, low, high := h.span(r)
	m := Move{Nth: h.nth(), Task: task, Low: low, High: high, At: h.now, Place: rapid.Int64Range(-1, 2).Draw(r, "place")}
	h.add(entry.Placed{Task: task, Low: low, High: high, Place: m.Place})
	h.each(task, low, high, func(_ int64, j *modelJob) { j.like.Place = m.Place })
	h.moves = slices.DeleteFunc(h.moves, func(old Move) bool {
		return h.holds(task) && old.Task == task && old.Share == 0 && low <= old.Low && old.High <= high
	})
	h.keep(m)
}

func (h *history) move(r *rapid.T) {
	task, low, high := h.span(r)
	m := Move{Nth: h.nth(), Task: task, Low: low, High: high, At: h.now, From: shares.ShareID(rapid.IntRange(0, 2).Draw(r, "from")),
		Share: shares.ShareID(rapid.IntRange(1, 3).Draw(r, "to")), Place: rapid.Int64Range(-1, 2).Draw(r, "place"), Running: rapid.Bool().Draw(r, "running")}
	h.add(entry.Moved{Task: task, Low: low, High: high, From: m.From, Share: m.Share, Place: m.Place, Running: m.Running})
	h.each(task, low, high, func(id int64, j *modelJob) {
		if m.From != 0 && m.From != j.like.Share {
			return
		}
		j.like.Share, j.like.Place = m.Share, m.Place
		if m.Running && j.lease != nil && j.payer != m.Share {
			j.pieces = append(j.pieces, piece{j.payer, h.now})
			j.payer = m.Share
			h.claims.Recharged(id, m.Share)
		}
	})
	h.keep(m)
}

// holds says whether a task has a lease.
func (h *history) holds(task int64) (is bool) {
	h.each(task, 0, maxID, func(_ int64, j *modelJob) { is = is || j.lease != nil })
	return is
}

// keep keeps what is said of jobs as long as their task has a lease.
func (h *history) keep(m Move) {
	if h.holds(m.Task) {
		h.moves = append(h.moves, m)
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
	if !h.claims.grant(e) {
		return
	}
	j.lease, j.payer, j.pieces = &Lease{Granted: e, Nth: h.nth(), GrantedAt: h.now, StartDelayMS: -1}, e.Share, nil
	h.add(e)
}

func (h *history) start(r *rapid.T) {
	id := h.pick(r, isHeld)
	if id == 0 {
		return
	}
	l := h.jobs[id].lease
	ttl := rapid.Int32Range(0, 9).Draw(r, "ttl")
	if rapid.Bool().Draw(r, "lasting") {
		l.TTLS = ttl
		h.add(entry.Lasting{Job: id, Attempt: l.Attempt, TTLS: ttl})
		return
	}
	h.add(entry.Started{Job: id, Attempt: l.Attempt, TTLS: ttl})
	if l.StartDelayMS < 0 {
		l.TTLS = ttl
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
	e := entry.Ended{Job: id, Attempt: j.lease.Attempt, Outcome: rapid.SampledFrom([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}).Draw(r, "outcome"),
		Next:     rapid.SampledFrom([]entry.Next{entry.Over, entry.Over, entry.Undone, entry.Again, entry.Waits}).Draw(r, "next"),
		ExitCode: int32(rapid.IntRange(-1, 255).Draw(r, "code")), CPUMilli: rapid.Int64Range(0, 1e9).Draw(r, "cpu"),
		MemoryMB: rapid.Int64Range(0, 1e6).Draw(r, "memory")}
	a := Attempt{Lease: *j.lease, EndedAt: h.now, Outcome: e.Outcome, ExitCode: e.ExitCode, CPUMilli: e.CPUMilli, MemoryMB: int32(e.MemoryMB)}
	h.add(e)
	h.claims.end(e)
	j.lease, j.like.Attempt = nil, j.like.Attempt+1
	switch {
	case e.Next == entry.Again:
		a.State, j.like.State = Ready, h.readyState(j.like.Task)
	case e.Next == entry.Waits:
		a.State, j.like.State = Waiting, Waiting
	case e.Next == entry.Undone, e.Outcome == entry.Cancelled:
		a.State = Cancelled
	case e.Outcome == entry.Finished:
		a.State = Finished
	default:
		a.State = Failed
	}
	if e.Next.Final() {
		delete(h.jobs, id)
	}
	if task := j.like.Task; !h.holds(task) {
		h.kills = slices.DeleteFunc(h.kills, func(k Kill) bool { return k.Task == task })
		h.moves = slices.DeleteFunc(h.moves, func(m Move) bool { return m.Task == task })
	}
	a.Nth, a.TTLS, a.Reason, a.GraceS, a.Place, a.Request, a.Share = 0, 0, "", 0, 0, entry.ID{}, j.payer // which history has not
	h.attempts = append(h.attempts, modelAttempt{a, j.pieces})
}

func (h *history) other(r *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 5:
		e := entry.Capped{Capacities: []entry.Capacity{{Name: "db", Units: rapid.Int64Range(0, 9).Draw(r, "units")}}}
		h.add(e)
		h.latest[Latest{Kind: 'C'}] = e
	case 6:
		e := entry.Reported{Name: rapid.SampledFrom([]string{"db", "table:a"}).Draw(r, "name"), Queue: shares.QueueID(rapid.IntRange(0, 1).Draw(r, "queue")), At: h.now}
		h.add(e)
		h.latest[Latest{Kind: 'r', Key: int64(e.Queue), Name: e.Name}] = e
	case 7:
		e := entry.Holed{Queue: shares.QueueID(rapid.IntRange(1, 2).Draw(r, "queue")), Is: rapid.Bool().Draw(r, "is")}
		h.add(e)
		h.latest[Latest{Kind: 'H', Key: int64(e.Queue)}] = e
	case 8:
		e := entry.Owed{Pool: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "pool"), Share: 1, Units: 1000}
		h.add(e)
		h.latest[Latest{Kind: 'O', Key: 1, Name: e.Pool}] = e
	case 9:
		e := entry.Stood{Pool: rapid.SampledFrom([]string{"", "a"}).Draw(r, "pool"), Shares: []entry.Standing{{Share: 1, Lag: rapid.Float64().Draw(r, "lag"), Grant: 1 << 63}}}
		h.add(e)
		h.latest[Latest{Kind: 'S', Name: e.Pool}] = e
	case 0:
		e := entry.Tick{Now: h.now}
		h.add(e)
		h.claims.tick(e)
		h.latest[Latest{Kind: 't'}] = e
	case 1:
		e := entry.Leader{Address: rapid.SampledFrom([]string{"a:1", "b:2"}).Draw(r, "address")}
		h.add(e)
		h.latest[Latest{Kind: 'L'}] = e
	case 10: // nothing follows from them
		h.add(entry.Wished{By: 2})
		h.add(entry.Heard{Jobs: []int64{1}})
	case 2:
		e := entry.Polled{Queue: shares.QueueID(rapid.IntRange(1, 2).Draw(r, "queue")), Is: rapid.Bool().Draw(r, "is")}
		h.add(e)
		h.latest[Latest{Kind: 'p', Key: int64(e.Queue)}] = e
	case 3:
		e := entry.Adopted{Number: rapid.Int64Range(1, 1<<62).Draw(r, "number")}
		h.add(e)
		h.claims.adopt(e.Number)
		h.latest[Latest{Kind: 'a'}] = e
	default:
		e := entry.Expected{Share: shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share")), Shape: int32(rapid.IntRange(0, 2).Draw(r, "shape")),
			Jobs: rapid.Int64Range(0, 20).Draw(r, "jobs"), More: rapid.Bool().Draw(r, "more")}
		h.add(e)
		key := entry.Expected{Share: e.Share, Shape: e.Shape}
		if !e.More {
			h.expected[key] = 0
		}
		h.expected[key] += e.Jobs
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
			key.Queue, key.Share = j.lease.Queue, j.payer
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
			case Paused:
				c.Paused++
			}
		}
		tasks[j.like.Task] = c
	}
	want.Kills, want.Moves, want.Paused = h.kills, h.moves, slices.Sorted(maps.Keys(h.paused))
	for _, o := range h.over {
		c := tasks[o.Task]
		if o.State == Failed {
			c.Failed++
		} else {
			c.Cancelled++
		}
		c.OverUS = max(c.OverUS, o.At.UnixMicro())
		tasks[o.Task] = c
		if last := len(want.Over) - 1; last >= 0 && want.Over[last].Nth == o.Nth && want.Over[last].High+1 == o.Low {
			want.Over[last].High = o.High
		} else {
			want.Over = append(want.Over, o)
		}
	}
	for _, l := range want.Held {
		c := tasks[l.Task]
		c.BegunUS = earlier(c.BegunUS, l.GrantedAt)
		tasks[l.Task] = c
	}
	for _, a := range h.attempts {
		want.History = append(want.History, a.Attempt)
		c := tasks[a.Task]
		c.BegunUS = earlier(c.BegunUS, a.GrantedAt)
		if a.State.Final() {
			c.OverUS = max(c.OverUS, a.EndedAt.UnixMicro())
		}
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

func earlier(us int64, at time.Time) int64 {
	if us == 0 {
		return at.UnixMicro()
	}
	return min(us, at.UnixMicro())
}

// payers are who paid for an attempt, each until a moment.
func (a modelAttempt) payers() []piece {
	return append(slices.Clone(a.pieces), piece{a.Share, a.EndedAt})
}

// usage looks at every hour that anything ended in or ran, for each attempt.
func (h *history) usage(s *Sums) (nodes []Usage) {
	ends := map[EndCount]int64{}
	uses := [4]map[UsageKey]Usage{{}, {}, {}, {}}
	for _, a := range h.attempts {
		begin, end := a.GrantedAt.Truncate(time.Millisecond), a.EndedAt.Truncate(time.Millisecond)
		last := end.Truncate(time.Hour)
		ends[EndCount{HourMS: last.UnixMilli(), Share: a.Share, Shape: a.Shape, Queue: a.Queue, Outcome: a.Outcome, State: a.State}]++
		since := begin
		for i, p := range a.payers() {
			isLast := i == len(a.pieces)
			until := p.until.Truncate(time.Millisecond)
			for hour := since.Truncate(time.Hour); !hour.After(last); hour = hour.Add(time.Hour) {
				ms := max(0, min(until.UnixMilli(), hour.Add(time.Hour).UnixMilli())-max(since.UnixMilli(), hour.UnixMilli()))
				u := Usage{SlotMS: int64(1+a.Shape) * ms, UnitMS: int64(a.Units) * ms}
				if slices.Contains([]entry.Outcome{entry.Failed, entry.Lost, entry.Returned}, a.Outcome) {
					u.WastedMS = u.SlotMS
				}
				if isLast && hour.Equal(last) {
					u.CPUMilli = a.CPUMilli
					*map[entry.Outcome]*int64{entry.Finished: &u.Finished, entry.Failed: &u.Failed, entry.Lost: &u.Lost, entry.Cancelled: &u.Cancelled,
						entry.Returned: &u.Returned}[a.Outcome]++
				}
				if u == (Usage{}) && ms == 0 {
					continue
				}
				day, endDay := hour.Truncate(24*time.Hour).UnixMilli(), last.Truncate(24*time.Hour).UnixMilli()
				for i, key := range []UsageKey{
					{AtMS: hour.UnixMilli(), Share: p.payer, Queue: a.Queue, Name: userOf(a.Task)},
					{AtMS: day, Share: p.payer, Queue: a.Queue, Name: userOf(a.Task)},
					{AtMS: day, Task: a.Task, Share: p.payer},
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
			since = until
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
