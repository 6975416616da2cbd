package fold

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

const (
	hourMS = int64(time.Hour / time.Millisecond)
	dayMS  = 24 * hourMS
)

// TaskCount has the jobs of a task by state.
type TaskCount struct {
	Task      int64
	User      string // empty: this change does not say it
	Ready     int64
	Paused    int64
	Held      int64
	Waiting   int64
	Finished  int64
	Failed    int64
	Cancelled int64
	BegunUS   int64 // when its first lease was granted, as a Unix time in microseconds; 0: never
	OverUS    int64 // when the last of its jobs that are over was so; 0: none is
}

// ShareCount has the jobs of a share and shape that are ready (Queue is 0) or held at a queue.
type ShareCount struct {
	Share shares.ShareID
	Shape int32
	Queue shares.QueueID
	Ready int64
	Held  int64
	Units shares.Units // held
}

// EndCount has how many attempts ended.
type EndCount struct {
	HourMS  int64 // of their end, as a Unix time in milliseconds
	Share   shares.ShareID
	Shape   int32
	Queue   shares.QueueID
	Outcome entry.Outcome
	State   State
	N       int64
}

// UsageKey identifies a row of usage. Each table of usage has some of its fields; the others are zero.
type UsageKey struct {
	AtMS  int64 // begin of the hour or day, as a Unix time in milliseconds
	Task  int64
	Share shares.ShareID
	Queue shares.QueueID
	Name  string // user or node
}

// Usage is what attempts cost. An attempt of some hours is in each of them with its part; its outcome and CPUMilli are in the
// last one. Its begin and end count to the millisecond.
type Usage struct {
	UsageKey
	SlotMS   int64 // cores times milliseconds
	UnitMS   int64 // thousandths of units times milliseconds
	WastedMS int64 // SlotMS of attempts that failed, were lost or returned
	CPUMilli int64

	Finished, Failed, Lost, Cancelled, Returned int64 // attempts
}

// Sums are what a step adds to the tables of counts and usage, in the order of their keys.
type Sums struct {
	Tasks     []TaskCount
	Shares    []ShareCount
	Ends      []EndCount
	Hours     []Usage
	Days      []Usage
	TaskUsage []Usage
}

type shareShape struct {
	share shares.ShareID
	shape int32
}

type shareQueue struct {
	shareShape
	queue shares.QueueID
}

// of is what a map has for a key, or gets.
func of[K comparable, V any](m map[K]*V, key K, fresh V) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		*v, m[key] = fresh, v
	}
	return v
}

// sums are Sums in the making.
type sums struct {
	tasks  map[int64]*TaskCount
	shares map[shareQueue]*ShareCount
	ends   map[EndCount]int64 // whose N is 0
	hours  usages
	days   usages
	byTask usages
}

type usages map[UsageKey]*Usage

func (u usages) of(key UsageKey) *Usage { return of(u, key, Usage{UsageKey: key}) }

func newSums() sums {
	return sums{map[int64]*TaskCount{}, map[shareQueue]*ShareCount{}, map[EndCount]int64{}, usages{}, usages{}, usages{}}
}

func (s *sums) task(id int64) *TaskCount { return of(s.tasks, id, TaskCount{Task: id}) }

func (s *sums) share(share shares.ShareID, shape int32, queue shares.QueueID) *ShareCount {
	return of(s.shares, shareQueue{shareShape{share, shape}, queue}, ShareCount{Share: share, Shape: shape, Queue: queue})
}

func (t *TaskCount) count(state State, jobs int64) {
	switch state {
	case Ready:
		t.Ready += jobs
	case Paused:
		t.Paused += jobs
	case Waiting:
		t.Waiting += jobs
	case Finished:
		t.Finished += jobs
	case Failed:
		t.Failed += jobs
	case Cancelled:
		t.Cancelled += jobs
	}
}

func (t *TaskCount) finish(state State, jobs int64, at time.Time) {
	t.count(state, jobs)
	t.OverUS = at.UnixMicro()
}

// idle counts jobs that came (+1) to a range or went (-1).
func (s *sums) idle(r Range, sign int64) {
	s.task(r.Task).count(r.State, sign*r.Jobs())
	if r.State == Ready {
		s.share(r.Share, r.Shape, 0).Ready += sign * r.Jobs()
	}
}

// hold counts a lease that came (+1) or went (-1).
func (s *sums) hold(g entry.Granted, sign int64) {
	s.task(g.Task).Held += sign
	c := s.share(g.Share, g.Shape, g.Queue)
	c.Held += sign
	c.Units += shares.Units(sign) * g.Units
}

// end counts an attempt that ended; pieces say who was charged before its share.
func (s *sums) end(a Attempt, cores int64, user string, pieces []piece) {
	begin, end := a.GrantedAt.UnixMilli(), a.EndedAt.UnixMilli()
	end = max(begin, end)
	s.ends[EndCount{HourMS: floor(end, hourMS), Share: a.Share, Shape: a.Shape, Queue: a.Queue, Outcome: a.Outcome, State: a.State}]++
	if a.State.Final() {
		s.task(a.Task).finish(a.State, 1, a.EndedAt)
	}
	for _, p := range pieces {
		part := a
		part.Share = p.payer
		until := max(begin, p.until.UnixMilli())
		s.spend(part, cores, user, begin, until)
		begin = until
	}
	last, hour := a.usage(0, 0), floor(end, hourMS)
	last.over(a)
	s.spend(a, cores, user, begin, end)
	s.use(a, user, hour, last)
}

// spend counts what an attempt costs its share from begin to end.
func (s *sums) spend(a Attempt, cores int64, user string, begin, end int64) {
	for at := begin; at < end; {
		hour := floor(at, hourMS)
		until := min(end, hour+hourMS)
		s.use(a, user, hour, a.usage(cores, until-at))
		at = until
	}
}

func (s *sums) use(a Attempt, user string, hour int64, u Usage) {
	day := floor(hour, dayMS)
	s.hours.of(UsageKey{AtMS: hour, Share: a.Share, Queue: a.Queue, Name: user}).add(u)
	s.days.of(UsageKey{AtMS: day, Share: a.Share, Queue: a.Queue, Name: user}).add(u)
	s.byTask.of(UsageKey{AtMS: day, Task: a.Task, Share: a.Share}).add(u)
}

// usage is what an attempt costs in so many milliseconds.
func (a Attempt) usage(cores, ms int64) Usage {
	u := Usage{SlotMS: cores * ms, UnitMS: int64(a.Units) * ms}
	if a.Outcome == entry.Failed || a.Outcome == entry.Lost || a.Outcome == entry.Returned {
		u.WastedMS = u.SlotMS
	}
	return u
}

// over counts the end of an attempt.
func (u *Usage) over(a Attempt) {
	u.CPUMilli = a.CPUMilli
	switch a.Outcome {
	case entry.Finished:
		u.Finished = 1
	case entry.Failed:
		u.Failed = 1
	case entry.Lost:
		u.Lost = 1
	case entry.Cancelled:
		u.Cancelled = 1
	case entry.Returned:
		u.Returned = 1
	}
}

// nodeUsage is a row of node_usage with an attempt alone.
func (a Attempt) nodeUsage(cores int64) Usage {
	begin, end := a.GrantedAt.UnixMilli(), max(a.GrantedAt.UnixMilli(), a.EndedAt.UnixMilli())
	u := a.usage(cores, end-begin)
	u.over(a)
	u.UsageKey = UsageKey{AtMS: floor(end, dayMS), Queue: a.Queue, Name: a.Node}
	return u
}

func (u *Usage) add(v Usage) {
	u.SlotMS += v.SlotMS
	u.UnitMS += v.UnitMS
	u.WastedMS += v.WastedMS
	u.CPUMilli += v.CPUMilli
	u.Finished += v.Finished
	u.Failed += v.Failed
	u.Lost += v.Lost
	u.Cancelled += v.Cancelled
	u.Returned += v.Returned
}

// floor is the begin of the hour or day of a Unix time.
func floor(ms, step int64) int64 { return ms - ms%step }

// none says whether it counts nothing.
func (t TaskCount) none() bool { return t == TaskCount{Task: t.Task} }

func (c ShareCount) none() bool { return c.Ready == 0 && c.Held == 0 && c.Units == 0 }

// list has what is not zero, by key: two folders, and the pages of an index, want the same order.
func (s *sums) list() (l Sums) {
	l.Tasks = sorted(s.tasks, func(a, b TaskCount) int { return cmp.Compare(a.Task, b.Task) })
	l.Tasks = slices.DeleteFunc(l.Tasks, TaskCount.none)
	l.Shares = sorted(s.shares, func(a, b ShareCount) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Queue, b.Queue))
	})
	l.Shares = slices.DeleteFunc(l.Shares, ShareCount.none)
	for c, n := range s.ends {
		c.N = n
		l.Ends = append(l.Ends, c)
	}
	slices.SortFunc(l.Ends, func(a, b EndCount) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.State, b.State))
	})
	l.Hours, l.Days, l.TaskUsage = s.hours.list(), s.days.list(), s.byTask.list()
	return l
}

func (u usages) list() []Usage {
	return sorted(u, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.AtMS, b.AtMS), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Share, b.Share), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Name, b.Name))
	})
}

// sorted are the values of a map.
func sorted[K comparable, V any](m map[K]*V, compare func(a, b V) int) (all []V) {
	for _, v := range m {
		all = append(all, *v)
	}
	slices.SortFunc(all, compare)
	return all
}
