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

// UsageKey says for whom and when. Each table of usage has some of its fields, the others are zero there.
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
	Outcomes [5]int64 // in the order of outcomes
}

// outcomes are in the order of Usage.Outcomes.
var outcomes = [5]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}

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

// task is what a step adds to a TaskCount.
type task struct {
	user    string
	held    int64
	state   map[State]int64
	begunUS int64
	overUS  int64
}

// begun notes a grant.
func (t *task) begun(at time.Time) {
	if t.begunUS == 0 {
		t.begunUS = at.UnixMicro()
	}
}

// finish counts jobs that are over.
func (t *task) finish(state State, jobs int64, at time.Time) {
	t.state[state] += jobs
	t.overUS = at.UnixMicro()
}

type taskSums map[int64]*task

func (s taskSums) of(id int64) *task {
	t := s[id]
	if t == nil {
		t = &task{state: map[State]int64{}}
		s[id] = t
	}
	return t
}

type usages map[UsageKey]*Usage

func (u usages) of(key UsageKey) *Usage {
	v := u[key]
	if v == nil {
		v = &Usage{UsageKey: key}
		u[key] = v
	}
	return v
}

// sums are Sums in the making.
type sums struct {
	tasks  taskSums
	shares map[shareQueue]*ShareCount
	ends   map[EndCount]int64 // whose N is 0
	hours  usages
	days   usages
	byTask usages
}

func newSums() sums {
	return sums{taskSums{}, map[shareQueue]*ShareCount{}, map[EndCount]int64{}, usages{}, usages{}, usages{}}
}

func (s *sums) share(key shareQueue) *ShareCount {
	c := s.shares[key]
	if c == nil {
		c = &ShareCount{Share: key.share, Shape: key.shape, Queue: key.queue}
		s.shares[key] = c
	}
	return c
}

// idle counts jobs that came (+1) to a range or went (-1).
func (s *sums) idle(r Range, sign int64) {
	s.tasks.of(r.Task).state[r.State] += sign * r.Jobs()
	if r.State == Ready {
		s.share(shareQueue{shareShape: shareShape{r.Share, r.Shape}}).Ready += sign * r.Jobs()
	}
}

// hold counts a lease that came (+1) or went (-1).
func (s *sums) hold(g entry.Granted, sign int64) {
	s.tasks.of(g.Task).held += sign
	c := s.share(shareQueue{shareShape{g.Share, g.Shape}, g.Queue})
	c.Held += sign
	c.Units += shares.Units(sign) * g.Units
}

// cost is what usage depends on beside the attempt.
type cost struct {
	cores  int64
	user   string
	pieces []piece // who was charged before the share of the attempt
}

// end counts an attempt that ended.
func (s *sums) end(a Attempt, c cost) {
	begin, end := a.GrantedAt.UnixMilli(), a.EndedAt.UnixMilli()
	end = max(begin, end)
	s.ends[EndCount{HourMS: floor(end, hourMS), Share: a.Share, Shape: a.Shape, Queue: a.Queue, Outcome: a.Outcome, State: a.State}]++
	if a.State.Final() {
		s.tasks.of(a.Task).finish(a.State, 1, a.EndedAt)
	}
	for _, p := range c.pieces {
		part := a
		part.Share = p.payer
		until := max(begin, p.until.UnixMilli())
		s.spend(part, c, begin, until)
		begin = until
	}
	last, hour := a.usage(0, 0), floor(end, hourMS)
	last.over(a)
	s.spend(a, c, begin, end)
	s.use(a, c.user, hour, last)
}

// spend counts what an attempt costs its share from begin to end.
func (s *sums) spend(a Attempt, c cost, begin, end int64) {
	for at := begin; at < end; {
		hour := floor(at, hourMS)
		until := min(end, hour+hourMS)
		s.use(a, c.user, hour, a.usage(c.cores, until-at))
		at = until
	}
}

// use adds to what is used in an hour.
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
	if i := slices.Index(outcomes[:], a.Outcome); i >= 0 {
		u.Outcomes[i] = 1
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
	for i, n := range v.Outcomes {
		u.Outcomes[i] += n
	}
}

// floor is the begin of the hour or day of a Unix time.
func floor(ms, step int64) int64 { return ms - ms%step }

// list has what is not zero, by key: two folders, and the pages of an index, want the same order.
func (s *sums) list() (l Sums) {
	for id, t := range s.tasks {
		c := TaskCount{id, t.user, t.state[Ready], t.state[Paused], t.held, t.state[Waiting], t.state[Finished], t.state[Failed], t.state[Cancelled],
			t.begunUS, t.overUS}
		if c != (TaskCount{Task: id}) {
			l.Tasks = append(l.Tasks, c)
		}
	}
	slices.SortFunc(l.Tasks, func(a, b TaskCount) int { return cmp.Compare(a.Task, b.Task) })
	for _, c := range s.shares {
		if c.Ready != 0 || c.Held != 0 || c.Units != 0 {
			l.Shares = append(l.Shares, *c)
		}
	}
	slices.SortFunc(l.Shares, func(a, b ShareCount) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Queue, b.Queue))
	})
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

func (u usages) list() (all []Usage) {
	for _, v := range u {
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.AtMS, b.AtMS), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Share, b.Share), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Name, b.Name))
	})
	return all
}
