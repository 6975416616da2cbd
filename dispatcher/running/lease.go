package running

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Lease is the right to run one attempt of a job, and what it holds.
type Lease struct {
	entry.Granted
	User    string // of the task
	Started bool
	Order   *Order         // to end the attempt; nil: there is none
	Home    shares.ShareID // to which the job comes back; Share pays
	Killed  bool           // nobody wants the job: it is not tried again
	Idle    bool           // with Killed: the attempt runs to its end, and counts
}

// Order is that an attempt ends: its pilot is told.
type Order struct {
	Reason string
	GraceS int32 // seconds from SIGTERM to SIGKILL
}

// Leases are all that run, by job.
type Leases struct {
	by       map[int64]*Run
	all      []*Run               // each at its place, in no order
	requests map[entry.ID][]int64 // jobs that each was granted, in their order
	orders   map[int64]Order
	tasks    map[int64]*task
	names    names // of pilots and nodes
}

// Run is Lease as it is kept: a million of them are to take little memory.
type Run struct {
	Job     int64
	Nonce   int64
	of      *task
	Place   int64 // where the job stands when it comes back,
	Units   shares.Units
	since   int64 // milliseconds of Unix time
	request entry.ID
	Attempt int32
	Shape   int32
	Share   shares.ShareID // that pays
	Home    shares.ShareID // and in the order of which share
	Queue   shares.QueueID
	at      int32 // place among all
	started bool
	Pilot   *name
	node    *name
}

// New has no leases.
func New() *Leases {
	return &Leases{by: map[int64]*Run{}, requests: map[entry.ID][]int64{}, orders: map[int64]Order{}, tasks: map[int64]*task{}, names: names{}}
}

// Add adds that of a grant that was made now; the user is that of its task.
func (ls *Leases) Add(g entry.Granted, user string, now time.Time) {
	t := ls.tasks[g.Task]
	if t == nil {
		t = &task{id: g.Task, user: user}
		ls.tasks[g.Task] = t
	}
	t.n++
	r := &Run{Job: g.Job, Nonce: g.Nonce, of: t, at: int32(len(ls.all)), since: now.UnixMilli(), Place: g.Place, Units: g.Units, request: g.Request, Attempt: g.Attempt,
		Shape: g.Shape, Share: g.Share, Home: g.Share, Queue: g.Queue, Pilot: ls.names.keep(g.Pilot), node: ls.names.keep(g.Node)}
	ls.by[g.Job], ls.all = r, append(ls.all, r)
	if n := r.node; n.Text != "" {
		n.jobs = append(n.jobs, g.Job)
	}
	if g.Request != (entry.ID{}) {
		ls.requests[g.Request] = append(ls.requests[g.Request], g.Job)
	}
}

// any says whether a job of a task has a lease, of those with ids from low to high.
func (ls *Leases) any(task, low, high int64) bool {
	for range ls.OfTask(task, low, high) {
		return true
	}
	return false
}

// Count is how many leases a task has.
func (ls *Leases) Count(task int64) int64 {
	if t := ls.tasks[task]; t != nil {
		return t.n
	}
	return 0
}

// Task is whose job it is.
func (l *Run) Task() int64 { return l.of.id }

// User is that of the task.
func (l *Run) User() string { return l.of.user }

// Since is when its pilot began to run it; before that, when it was granted.
func (l *Run) Since() time.Time { return time.UnixMilli(l.since) }

// Killed says whether nobody wants a job that has a lease.
func (ls *Leases) Killed(job int64) bool {
	l := ls.by[job]
	return l != nil && l.of.killed(job) != nil
}

// Run is the lease of a job; nil: it has none.
func (ls *Leases) Run(job int64) *Run { return ls.by[job] }

// Restore adds a lease as it was, see Run.Since. Without a Home its job comes back to the share that pays.
func (ls *Leases) Restore(l Lease, since time.Time) {
	ls.Add(l.Granted, l.User, since)
	ls.by[l.Job].started = l.Started
	if l.Home != 0 {
		ls.by[l.Job].Home = l.Home
	}
	if l.Order != nil {
		ls.orders[l.Job] = *l.Order
	}
}

// Attempt is the lease of an attempt; an error when the job has no lease, or one of another attempt.
func (ls *Leases) Attempt(job int64, attempt int32) (*Run, error) {
	l := ls.by[job]
	if l == nil {
		return nil, fmt.Errorf("job %d has no lease", job)
	}
	if l.Attempt != attempt {
		return nil, fmt.Errorf("job %d has attempt %d, not %d", job, l.Attempt, attempt)
	}
	return l, nil
}

// Drop ends one.
func (ls *Leases) Drop(job int64, l *Run) {
	delete(ls.by, job)
	delete(ls.orders, job)
	last := ls.all[len(ls.all)-1]
	ls.all[l.at], last.at = last, l.at
	ls.all[len(ls.all)-1] = nil
	ls.all = ls.all[:len(ls.all)-1]
	ls.names.drop(l.Pilot)
	if i := slices.Index(l.node.jobs, job); i >= 0 {
		last := len(l.node.jobs) - 1
		l.node.jobs[i] = l.node.jobs[last]
		l.node.jobs = l.node.jobs[:last]
	}
	ls.names.drop(l.node)
	if l.of.n--; l.of.n == 0 {
		delete(ls.tasks, l.of.id)
	} else if k := l.of.killed(job); k != nil && k.low == k.high {
		l.of.kills.Delete(k)
	}
	if l.request == (entry.ID{}) {
		return
	}
	jobs := ls.requests[l.request]
	if i := slices.Index(jobs, job); len(jobs) > 1 {
		ls.requests[l.request] = slices.Delete(jobs, i, i+1)
		return
	}
	delete(ls.requests, l.request)
}

// Start notes that the pilot runs the attempt from now on.
func (ls *Leases) Start(e entry.Started, now time.Time) error {
	l, err := ls.Attempt(e.Job, e.Attempt)
	if err != nil {
		return fmt.Errorf("started: %w", err)
	}
	l.started, l.since = true, now.UnixMilli()
	return nil
}

// Revoke orders that an attempt ends.
func (ls *Leases) Revoke(e entry.Revoked) error {
	if _, err := ls.Attempt(e.Job, e.Attempt); err != nil {
		return fmt.Errorf("revoked: %w", err)
	}
	ls.orders[e.Job] = Order{e.Reason, e.GraceS}
	return nil
}

// Many is how many there are.
func (ls *Leases) Many() int { return len(ls.by) }

// Of is the lease of a job.
func (ls *Leases) Of(job int64) (Lease, bool) {
	l := ls.by[job]
	if l == nil {
		return Lease{}, false
	}
	return ls.show(job, l), true
}

func (ls *Leases) show(job int64, l *Run) Lease {
	shown := Lease{User: l.of.user, Started: l.started, Home: l.Home, Granted: entry.Granted{Job: job, Attempt: l.Attempt, Nonce: l.Nonce, Task: l.of.id, Share: l.Share,
		Shape: l.Shape, Place: l.Place, Queue: l.Queue, Units: l.Units, Pilot: l.Pilot.Text, Node: l.node.Text, Request: l.request}}
	if order, ok := ls.orders[job]; ok {
		shown.Order = &order
	}
	if k := l.of.killed(job); k != nil {
		if shown.Killed, shown.Idle = true, k.idle; !k.idle {
			order := k.order
			shown.Order = &order
		}
	}
	return shown
}

// OfTask are the jobs of a task that have a lease, with ids from low to high, in no order.
func (ls *Leases) OfTask(id, low, high int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		t := ls.tasks[id]
		if t == nil {
			return
		}
		if uint64(high-low) < uint64(len(ls.by)) {
			for job := low; job <= high; job++ {
				if l := ls.by[job]; l != nil && l.of == t && !yield(job) {
					return
				}
			}
			return
		}
		left := t.n
		for job, l := range ls.by {
			if l.of != t {
				continue
			}
			if left--; low <= job && job <= high && !yield(job) || left == 0 {
				return
			}
		}
	}
}

// At are the jobs that run at a node, of whatever queue.
func (ls *Leases) At(node string) []int64 {
	if n := ls.names[node]; n != nil {
		return n.jobs
	}
	return nil
}

// Answered are the leases of a request, in the order of its grants.
func (ls *Leases) Answered(request entry.ID) (list []Lease) {
	for _, job := range ls.requests[request] {
		list = append(list, ls.show(job, ls.by[job]))
	}
	return list
}

// All are all, in no order.
func (ls *Leases) All() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for job, l := range ls.by {
			if !yield(ls.show(job, l)) {
				return
			}
		}
	}
}

// Unordered are those that are not to end by an order, of so many places from one on: whoever looks at all of them in parts misses none that is
// there all the time but for those that take the place of one that ended. They are in no order, and not to be changed.
func (ls *Leases) Unordered(from, most int) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for _, l := range ls.all[min(from, len(ls.all)):min(from+most, len(ls.all))] {
			if k := l.of.killed(l.Job); k != nil && !k.idle {
				continue
			}
			if _, ordered := ls.orders[l.Job]; !ordered && !yield(l) {
				return
			}
		}
	}
}

// Digest adds all leases.
func (ls *Leases) Digest(add func(values ...any)) {
	for _, job := range slices.Sorted(maps.Keys(ls.by)) {
		add(ls.show(job, ls.by[job]))
	}
}

// Find are the leases of a task, or of a share, in no order; 0: of any. It looks at every lease.
func (ls *Leases) Find(task int64, share shares.ShareID) (list []Lease) {
	for id, l := range ls.by {
		if (task == 0 || l.of.id == task) && (share == 0 || l.Share == share) {
			list = append(list, ls.show(id, l))
		}
	}
	return list
}

// names keeps each text once, as long as somebody has it.
type names map[string]*name

type name struct {
	Text string
	n    int
	jobs []int64 // of a node: that run there
}

func (ns names) keep(text string) *name {
	n := ns[text]
	if n == nil {
		n = &name{Text: text}
		ns[text] = n
	}
	n.n++
	return n
}

func (ns names) drop(n *name) {
	if n.n--; n.n == 0 {
		delete(ns, n.Text)
	}
}

// Nonce is the nth secret of a seed (splitmix64).
func Nonce(seed int64, n int) int64 {
	z := uint64(seed) + uint64(n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64(z ^ z>>31)
}
