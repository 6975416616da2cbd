package machine

import (
	"fmt"
	"iter"
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

// leases are all that run, by job.
type leases struct {
	by       map[int64]*lease
	requests map[entry.ID][]int64 // jobs that each was granted, in their order
	orders   map[int64]Order
	names    names // of pilots, nodes and users
}

// lease is Lease as it is kept: a million of them are to take little memory.
type lease struct {
	nonce   int64
	task    int64
	place   int64
	units   shares.Units
	request entry.ID
	attempt int32
	shape   int32
	share   shares.ShareID
	queue   shares.QueueID
	pilot   *name
	node    *name
	user    *name // of the task
	started bool
}

func newLeases() *leases {
	return &leases{by: map[int64]*lease{}, requests: map[entry.ID][]int64{}, orders: map[int64]Order{}, names: names{}}
}

func (ls *leases) add(g entry.Granted, user string) {
	ls.by[g.Job] = &lease{nonce: g.Nonce, task: g.Task, place: g.Place, units: g.Units, request: g.Request, attempt: g.Attempt,
		shape: g.Shape, share: g.Share, queue: g.Queue, pilot: ls.names.keep(g.Pilot), node: ls.names.keep(g.Node), user: ls.names.keep(user)}
	if n := ls.by[g.Job].node; n.text != "" {
		n.jobs = append(n.jobs, g.Job)
	}
	if g.Request != (entry.ID{}) {
		ls.requests[g.Request] = append(ls.requests[g.Request], g.Job)
	}
}

// attempt is the lease of an attempt; an error when the job has no lease, or one of another attempt.
func (ls *leases) attempt(job int64, attempt int32) (*lease, error) {
	l := ls.by[job]
	if l == nil {
		return nil, fmt.Errorf("job %d has no lease", job)
	}
	if l.attempt != attempt {
		return nil, fmt.Errorf("job %d has attempt %d, not %d", job, l.attempt, attempt)
	}
	return l, nil
}

func (ls *leases) drop(job int64, l *lease) {
	delete(ls.by, job)
	delete(ls.orders, job)
	ls.names.drop(l.pilot)
	if i := slices.Index(l.node.jobs, job); i >= 0 {
		last := len(l.node.jobs) - 1
		l.node.jobs[i] = l.node.jobs[last]
		l.node.jobs = l.node.jobs[:last]
	}
	ls.names.drop(l.node)
	ls.names.drop(l.user)
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

func (ls *leases) start(e entry.Started) error {
	l, err := ls.attempt(e.Job, e.Attempt)
	if err != nil {
		return fmt.Errorf("started: %w", err)
	}
	l.started = true
	return nil
}

func (ls *leases) revoke(e entry.Revoked) error {
	if _, err := ls.attempt(e.Job, e.Attempt); err != nil {
		return fmt.Errorf("revoked: %w", err)
	}
	ls.orders[e.Job] = Order{e.Reason, e.GraceS}
	return nil
}

// of is the lease of a job.
func (ls *leases) of(job int64) (Lease, bool) {
	l := ls.by[job]
	if l == nil {
		return Lease{}, false
	}
	return ls.show(job, l), true
}

func (ls *leases) show(job int64, l *lease) Lease {
	shown := Lease{User: l.user.text, Started: l.started, Granted: entry.Granted{Job: job, Attempt: l.attempt, Nonce: l.nonce, Task: l.task, Share: l.share,
		Shape: l.shape, Place: l.place, Queue: l.queue, Units: l.units, Pilot: l.pilot.text, Node: l.node.text, Request: l.request}}
	if order, ok := ls.orders[job]; ok {
		shown.Order = &order
	}
	return shown
}

// ofTask are the jobs of a task that have a lease, with ids from low to high, in no order.
func (ls *leases) ofTask(task, low, high int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if high-low < int64(len(ls.by)) {
			for job := low; job <= high; job++ {
				if l := ls.by[job]; l != nil && l.task == task && !yield(job) {
					return
				}
			}
			return
		}
		for job, l := range ls.by {
			if l.task == task && low <= job && job <= high && !yield(job) {
				return
			}
		}
	}
}

// at are the jobs that run at a node, of whatever queue.
func (ls *leases) at(node string) []int64 {
	if n := ls.names[node]; n != nil {
		return n.jobs
	}
	return nil
}

// answered are the leases of a request, in the order of its grants.
func (ls *leases) answered(request entry.ID) (list []Lease) {
	for _, job := range ls.requests[request] {
		list = append(list, ls.show(job, ls.by[job]))
	}
	return list
}

func (ls *leases) all() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for job, l := range ls.by {
			if !yield(ls.show(job, l)) {
				return
			}
		}
	}
}

// names keeps each text once, as long as somebody has it.
type names map[string]*name

type name struct {
	text string
	n    int
	jobs []int64 // of a node: that run there
}

func (ns names) keep(text string) *name {
	n := ns[text]
	if n == nil {
		n = &name{text: text}
		ns[text] = n
	}
	n.n++
	return n
}

func (ns names) drop(n *name) {
	if n.n--; n.n == 0 {
		delete(ns, n.text)
	}
}
