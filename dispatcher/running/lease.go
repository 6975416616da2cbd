package running

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Lease is the right to run one attempt of a job, and what it holds.
type Lease struct {
	entry.Granted
	User    string // of the task
	Started bool
	Order   *Order // to end the attempt; nil: there is none
}

// Order is that an attempt ends: its pilot is told.
type Order struct {
	Reason string
	GraceS int32 // seconds from SIGTERM to SIGKILL
}

// Leases are all that run, by job.
type Leases struct {
	by       map[int64]*Run
	requests map[entry.ID][]int64 // jobs that each was granted, in their order
	orders   map[int64]Order
	names    names // of pilots, nodes and users
}

// Run is Lease as it is kept: a million of them are to take little memory.
type Run struct {
	nonce   int64
	Task    int64
	Place   int64
	Units   shares.Units
	request entry.ID
	Attempt int32
	Shape   int32
	Share   shares.ShareID
	Queue   shares.QueueID
	Pilot   *name
	node    *name
	User    *name // of the task
	started bool
}

// New has no leases.
func New() *Leases {
	return &Leases{by: map[int64]*Run{}, requests: map[entry.ID][]int64{}, orders: map[int64]Order{}, names: names{}}
}

// Add adds that of a grant; the user is that of its task.
func (ls *Leases) Add(g entry.Granted, user string) {
	ls.by[g.Job] = &Run{nonce: g.Nonce, Task: g.Task, Place: g.Place, Units: g.Units, request: g.Request, Attempt: g.Attempt,
		Shape: g.Shape, Share: g.Share, Queue: g.Queue, Pilot: ls.names.keep(g.Pilot), node: ls.names.keep(g.Node), User: ls.names.keep(user)}
	if n := ls.by[g.Job].node; n.Text != "" {
		n.jobs = append(n.jobs, g.Job)
	}
	if g.Request != (entry.ID{}) {
		ls.requests[g.Request] = append(ls.requests[g.Request], g.Job)
	}
}

// Run is the lease of a job; nil: it has none.
func (ls *Leases) Run(job int64) *Run { return ls.by[job] }

// Restore adds a lease as it was.
func (ls *Leases) Restore(l Lease) {
	ls.Add(l.Granted, l.User)
	ls.by[l.Job].started = l.Started
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
	ls.names.drop(l.Pilot)
	if i := slices.Index(l.node.jobs, job); i >= 0 {
		last := len(l.node.jobs) - 1
		l.node.jobs[i] = l.node.jobs[last]
		l.node.jobs = l.node.jobs[:last]
	}
	ls.names.drop(l.node)
	ls.names.drop(l.User)
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

// Start notes that the pilot runs the attempt.
func (ls *Leases) Start(e entry.Started) error {
	l, err := ls.Attempt(e.Job, e.Attempt)
	if err != nil {
		return fmt.Errorf("started: %w", err)
	}
	l.started = true
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
	shown := Lease{User: l.User.Text, Started: l.started, Granted: entry.Granted{Job: job, Attempt: l.Attempt, Nonce: l.nonce, Task: l.Task, Share: l.Share,
		Shape: l.Shape, Place: l.Place, Queue: l.Queue, Units: l.Units, Pilot: l.Pilot.Text, Node: l.node.Text, Request: l.request}}
	if order, ok := ls.orders[job]; ok {
		shown.Order = &order
	}
	return shown
}

// OfTask are the jobs of a task that have a lease, with ids from low to high, in no order.
func (ls *Leases) OfTask(task, low, high int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if high-low < int64(len(ls.by)) {
			for job := low; job <= high; job++ {
				if l := ls.by[job]; l != nil && l.Task == task && !yield(job) {
					return
				}
			}
			return
		}
		for job, l := range ls.by {
			if l.Task == task && low <= job && job <= high && !yield(job) {
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

// Digest adds all leases.
func (ls *Leases) Digest(add func(values ...any)) {
	for _, job := range slices.Sorted(maps.Keys(ls.by)) {
		add(ls.show(job, ls.by[job]))
	}
}

// Find are the leases of a task, or of a share, in no order; 0: of any. It looks at every lease.
func (ls *Leases) Find(task int64, share shares.ShareID) (list []Lease) {
	for id, l := range ls.by {
		if (task == 0 || l.Task == task) && (share == 0 || l.Share == share) {
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
