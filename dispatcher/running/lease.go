package running

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/slab"
	"github.com/divvyhq/divvy/shares"
)

// Lease is the right to run one attempt of a job, and what it holds.
type Lease struct {
	entry.Granted
	User    string // of the task
	Started bool
	Order   *Order         // to end the attempt; nil: there is none
	Home    shares.ShareID // to which the job comes back; Share pays
	Killed  bool           // the job was killed: it is not tried again
	Idle    bool           // with Killed: the attempt runs to its end, and counts
}

// Order is that an attempt ends: its pilot is told.
type Order struct {
	Reason string
	GraceS int32 // seconds from SIGTERM to SIGKILL
}

// Leases are all that run, by job.
type Leases struct {
	slab     slab.Map[Run, *Run]
	requests map[entry.ID][]int64 // jobs that each was granted, in their order
	orders   map[int64]Order
	tasks    map[int64]*task
	names    names // of pilots and nodes
}

// Run is Lease as it is kept: a million of them are to take little memory, and no pointers that the collector would follow. It is another's when
// the lease has ended and the next one begins.
type Run struct {
	Job     int64
	Nonce   int64
	Task    int64
	Place   int64 // where the job stands when it comes back,
	Units   shares.Units
	since   int64 // milliseconds of Unix time
	request entry.ID
	Attempt int32
	Shape   int32
	Share   shares.ShareID // that pays
	Home    shares.ShareID // and in the order of which share
	Queue   shares.QueueID
	pilot   int32 // among names
	node    int32
	started bool
}

// Key is the job.
func (l *Run) Key() int64 { return l.Job }

// New has no leases.
func New() *Leases {
	return &Leases{requests: map[entry.ID][]int64{}, orders: map[int64]Order{}, tasks: map[int64]*task{}, names: newNames()}
}

// Add adds that of a grant that was made now; the user is that of its task.
func (ls *Leases) Add(g entry.Granted, user string, now time.Time) {
	t := ls.tasks[g.Task]
	if t == nil {
		t = &task{id: g.Task, user: user}
		ls.tasks[g.Task] = t
	}
	t.n++
	r := Run{Job: g.Job, Nonce: g.Nonce, Task: g.Task, since: now.UnixMilli(), Place: g.Place, Units: g.Units, request: g.Request, Attempt: g.Attempt,
		Shape: g.Shape, Share: g.Share, Home: g.Share, Queue: g.Queue, pilot: ls.names.keep(g.Pilot), node: ls.names.keep(g.Node)}
	ls.slab.Put(r)
	if g.Node != "" {
		n := &ls.names.all[r.node]
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

// User is that of the task.
func (ls *Leases) User(l *Run) string { return ls.tasks[l.Task].user }

// Pilot is the name of the pilot that was granted it.
func (ls *Leases) Pilot(l *Run) string { return ls.names.all[l.pilot].text }

// Since is when its pilot began to run it; before that, when it was granted.
func (l *Run) Since() time.Time { return time.UnixMilli(l.since) }

// Killed reports whether a leased job was killed.
func (ls *Leases) Killed(job int64) bool {
	l := ls.Run(job)
	return l != nil && ls.killed(l) != nil
}

func (ls *Leases) killed(l *Run) *kill { return ls.tasks[l.Task].killed(l.Job) }

// Run is the lease of a job; nil: it has none.
func (ls *Leases) Run(job int64) *Run { return ls.slab.Get(job) }

// Restore adds a lease as it was, see Run.Since. Without a Home its job comes back to the share that pays.
func (ls *Leases) Restore(l Lease, since time.Time) {
	ls.Add(l.Granted, l.User, since)
	r := ls.Run(l.Job)
	r.started = l.Started
	if l.Home != 0 {
		r.Home = l.Home
	}
	if l.Order != nil {
		ls.orders[l.Job] = *l.Order
	}
}

// Attempt is the lease of an attempt; an error when the job has no lease, or one of another attempt.
func (ls *Leases) Attempt(job int64, attempt int32) (*Run, error) {
	l := ls.Run(job)
	if l == nil {
		return nil, fmt.Errorf("job %d has no lease", job)
	}
	if l.Attempt != attempt {
		return nil, fmt.Errorf("job %d has attempt %d, not %d", job, l.Attempt, attempt)
	}
	return l, nil
}

// Drop ends one. What it was may be read until the next one begins.
func (ls *Leases) Drop(l *Run) {
	job := l.Job
	if i := slices.Index(ls.names.all[l.node].jobs, job); i >= 0 {
		n := &ls.names.all[l.node]
		last := len(n.jobs) - 1
		n.jobs[i] = n.jobs[last]
		n.jobs = n.jobs[:last]
	}
	ls.names.drop(l.pilot)
	ls.names.drop(l.node)
	if t := ls.tasks[l.Task]; t.n == 1 {
		delete(ls.tasks, l.Task)
	} else {
		t.n--
		if k := t.killed(job); k != nil && k.low == k.high {
			t.kills.Delete(k)
		}
	}
	ls.slab.Drop(job)
	delete(ls.orders, job)
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
	if err == nil {
		l.started, l.since = true, now.UnixMilli()
	}
	return err
}

// Revoke orders that an attempt ends.
func (ls *Leases) Revoke(e entry.Revoked) error {
	_, err := ls.Attempt(e.Job, e.Attempt)
	if err == nil {
		ls.orders[e.Job] = Order{e.Reason, e.GraceS}
	}
	return err
}

// Many is how many there are.
func (ls *Leases) Many() int { return ls.slab.Len() }

// Of is the lease of a job.
func (ls *Leases) Of(job int64) (Lease, bool) {
	l := ls.Run(job)
	if l == nil {
		return Lease{}, false
	}
	return ls.show(l), true
}

func (ls *Leases) show(l *Run) Lease {
	shown := Lease{User: ls.User(l), Started: l.started, Home: l.Home, Granted: entry.Granted{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce, Task: l.Task, Share: l.Share,
		Shape: l.Shape, Place: l.Place, Queue: l.Queue, Units: l.Units, Pilot: ls.Pilot(l), Node: ls.names.all[l.node].text, Request: l.request}}
	if order, ok := ls.orders[l.Job]; ok {
		shown.Order = &order
	}
	if k := ls.killed(l); k != nil {
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
		if uint64(high-low) < uint64(ls.Many()) {
			for job := low; job <= high; job++ {
				if l := ls.Run(job); l != nil && l.Task == id && !yield(job) {
					return
				}
			}
			return
		}
		left := t.n
		for l := range ls.slab.All() {
			if l.Task != id {
				continue
			}
			if left--; low <= l.Job && l.Job <= high && !yield(l.Job) || left == 0 {
				return
			}
		}
	}
}

// At are the jobs that run at a node, of whatever queue.
func (ls *Leases) At(node string) []int64 {
	if at, ok := ls.names.at[node]; ok {
		return ls.names.all[at].jobs
	}
	return nil
}

// Answered are the leases of a request, in the order of its grants.
func (ls *Leases) Answered(request entry.ID) (list []Lease) {
	for _, job := range ls.requests[request] {
		list = append(list, ls.show(ls.Run(job)))
	}
	return list
}

// All are all, in no order.
func (ls *Leases) All() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for l := range ls.slab.All() {
			if !yield(ls.show(l)) {
				return
			}
		}
	}
}

// Unordered are those that are not to end by an order, of so many indexes from one on; all is how many there are. Whoever looks at all of
// them in parts misses none that is there all the time. They are in no order, and not to be changed.
func (ls *Leases) Unordered(from, most int) (part iter.Seq[*Run], all int) {
	return func(yield func(*Run) bool) {
		for at := from; at < min(from+most, int(ls.slab.Top())); at++ {
			l := ls.slab.At(int32(at))
			if l == nil {
				continue
			}
			if k := ls.killed(l); k != nil && !k.idle {
				continue
			}
			if _, ordered := ls.orders[l.Job]; !ordered && !yield(l) {
				return
			}
		}
	}, int(ls.slab.Top())
}

// Digest adds all leases.
func (ls *Leases) Digest(add func(values ...any)) {
	for _, job := range ls.sorted() {
		add(ls.show(ls.Run(job)))
	}
}

func (ls *Leases) sorted() []int64 {
	jobs := make([]int64, 0, ls.Many())
	for l := range ls.slab.All() {
		jobs = append(jobs, l.Job)
	}
	slices.Sort(jobs)
	return jobs
}

// Nonce is the nth secret of a seed (splitmix64).
func Nonce(seed int64, n int) int64 {
	z := uint64(seed) + uint64(n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64(z ^ z>>31)
}

// names keeps each text once, as long as it is used.
type names struct {
	at   map[string]int32
	all  []name
	free []int32
}

type name struct {
	text string
	n    int
	jobs []int64 // of a node: that run there
}

func newNames() names { return names{at: map[string]int32{}} }

func (ns *names) keep(text string) int32 {
	at, ok := ns.at[text]
	if !ok {
		if last := len(ns.free) - 1; last >= 0 {
			at, ns.free = ns.free[last], ns.free[:last]
		} else {
			at, ns.all = int32(len(ns.all)), append(ns.all, name{})
		}
		ns.at[text], ns.all[at].text = at, text
	}
	ns.all[at].n++
	return at
}

func (ns *names) drop(at int32) {
	n := &ns.all[at]
	if n.n--; n.n == 0 {
		delete(ns.at, n.text)
		*n = name{}
		ns.free = append(ns.free, at)
	}
}
