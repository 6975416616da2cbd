package ready

import (
	"maps"
	"math"
	"slices"
)

// Aside is the jobs without a lease that no slot may have: those of paused tasks, and those that wait for a rule. Make one with
// NewAside. They are kept by the share and shape that the log knows them by.
type Aside struct {
	Paused  *Set // jobs that would be ready
	Waiting *Set
	tasks   map[int64]struct{} // that are paused
}

// NewAside has no jobs.
func NewAside() *Aside {
	return &Aside{Paused: NewSet(), Waiting: NewSet(), tasks: map[int64]struct{}{}}
}

// Pause marks a task; Resume ends that.
func (a *Aside) Pause(task int64) { a.tasks[task] = struct{}{} }

// Resume takes the mark off, and the jobs of the task out.
func (a *Aside) Resume(task int64) []Part {
	delete(a.tasks, task)
	return a.Paused.Withdraw(task, math.MinInt64, math.MaxInt64)
}

// Pauses says whether a task is paused.
func (a *Aside) Pauses(task int64) bool {
	_, is := a.tasks[task]
	return is
}

// Tasks are the paused ones, in the order of their ids.
func (a *Aside) Tasks() []int64 { return slices.Sorted(maps.Keys(a.tasks)) }

// Return takes the jobs of a task out that wait for an attempt, and have ids from low to high.
func (a *Aside) Return(task, low, high int64, attempt int32) (list []Part) {
	user, _ := a.Waiting.User(task)
	for _, w := range a.Waiting.Withdraw(task, low, high) {
		if w.Attempt == attempt {
			list = append(list, w)
		} else if err := a.Waiting.Put(w.Key, user, w.Range); err != nil {
			panic(err) // it was just there
		}
	}
	return list
}

// Digest adds all of it.
func (a *Aside) Digest(add func(values ...any)) {
	add(a.Tasks())
	for _, s := range [2]*Set{a.Paused, a.Waiting} {
		for b := range s.Buffers() {
			for r := range b.Ranges() {
				user, _ := s.User(r.Task)
				add(b.Key(), r, user)
			}
		}
	}
}
