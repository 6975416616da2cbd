package machine

import (
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// JobsView counts live jobs by where they are.
type JobsView struct {
	Ready   int64
	Paused  int64 // would be ready if their task were not paused
	Waiting int64 // for a rule
	Leased  int64
}

// TaskView is where the jobs of a task are.
type TaskView struct {
	JobsView
	Paused bool
}

// Task counts the live jobs of a task.
func (v View) Task(id int64) TaskView {
	s := v.state
	return TaskView{JobsView{s.ready.Count(id), s.aside.Paused.Count(id), s.aside.Waiting.Count(id), s.leases.Count(id)}, s.aside.Pauses(id)}
}

// Jobs counts the live jobs of every share: a lease counts for the share that pays for it.
func (v View) Jobs() map[shares.ShareID]JobsView {
	all, s := map[shares.ShareID]JobsView{}, v.state
	add := func(set *ready.Set, to func(w *JobsView) *int64) {
		for share, n := range set.Shares() {
			w := all[share]
			*to(&w) += n
			all[share] = w
		}
	}
	add(s.ready, func(w *JobsView) *int64 { return &w.Ready })
	add(s.aside.Paused, func(w *JobsView) *int64 { return &w.Paused })
	add(s.aside.Waiting, func(w *JobsView) *int64 { return &w.Waiting })
	for share, of := range s.held {
		w := all[share]
		for _, n := range of {
			w.Leased += n.Jobs
		}
		all[share] = w
	}
	return all
}

// Job says where a job of a task is; the zero one counts nothing: it is over, or was never there.
func (v View) Job(task, id int64) (w JobsView) {
	s := v.state
	if l := s.leases.Run(id); l != nil && l.Task == task {
		w.Leased = 1
	}
	for set, n := range map[*ready.Set]*int64{s.ready: &w.Ready, s.aside.Paused: &w.Paused, s.aside.Waiting: &w.Waiting} {
		if set.Has(task, id, id) {
			*n = 1
		}
	}
	return w
}
