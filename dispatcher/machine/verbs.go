package machine

import (
	"fmt"
	"math"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// verbs are what people and rules do to jobs.
type verbs struct{ *state }

// verb follows what people and rules want of jobs.
func (s verbs) verb(e entry.Entry) error {
	var low, high int64
	var do func() error
	switch e := e.(type) {
	case entry.Paused:
		s.pause(e.Task)
		return nil
	case entry.Resumed:
		return s.resume(e.Task)
	case entry.Killed:
		low, high, do = e.Low, e.High, func() error { return s.kill(e) }
	case entry.Closed:
		low, high, do = e.Low, e.High, func() error { return s.over(s.aside.Waiting.Withdraw(e.Task, e.Low, e.High)) }
	case entry.Placed:
		low, high, do = e.Low, e.High, func() error { return s.place(e) }
	case entry.Moved:
		low, high, do = e.Low, e.High, func() error { return s.moveJobs(e) }
	}
	if high < low {
		return fmt.Errorf("jobs %d to %d: want the lower id first", low, high)
	}
	return do()
}

// takeOut has jobs of a task be ready no more. It returns where they were, by share and shape of the log.
func (s verbs) takeOut(task, low, high int64) []ready.Part {
	list := s.ready.Withdraw(task, low, high)
	for i, w := range list {
		b := s.buffers[w.Key]
		list[i].Key = b.log()
		if i+1 == len(list) || list[i+1].Key != w.Key {
			s.changed(b, false)
		}
	}
	s.sorts.sweep()
	return list
}

// putBack makes jobs ready that were taken out.
func (s verbs) putBack(user string, list []ready.Part) error {
	for _, w := range list {
		if err := s.sorts.put(user, w, false); err != nil {
			return err
		}
	}
	return nil
}

func (s verbs) pause(task int64) {
	if s.aside.Pauses(task) {
		return
	}
	user, _ := s.ready.User(task)
	s.aside.Pause(task)
	for _, w := range s.takeOut(task, math.MinInt64, math.MaxInt64) {
		if err := s.aside.Paused.Put(w.Key, user, w.Range); err != nil {
			panic(err) // a job is in one place: it cannot be
		}
	}
}

func (s verbs) resume(task int64) error {
	user, _ := s.aside.Paused.User(task)
	s.eased++
	return s.putBack(user, s.aside.Resume(task))
}

// kill ends jobs that have no lease, and notes it for those that have one.
func (s verbs) kill(e entry.Killed) error {
	list := s.takeOut(e.Task, e.Low, e.High)
	list = append(list, s.aside.Paused.Withdraw(e.Task, e.Low, e.High)...)
	list = append(list, s.aside.Waiting.Withdraw(e.Task, e.Low, e.High)...)
	s.leases.Kill(e)
	return s.over(list)
}

// over has jobs that are no more hold no claims.
func (s verbs) over(list []ready.Part) error {
	fx, err := s.claims.Over(list)
	if err == nil {
		s.sorts.turn(fx)
	}
	return err
}

// place gives jobs another place in the order of their share.
func (s verbs) place(e entry.Placed) error {
	for job := range s.leases.OfTask(e.Task, e.Low, e.High) {
		s.leases.Run(job).Place = e.Place
	}
	return s.putElsewhere(e.Task, e.Low, e.High, func(w *ready.Part) { w.Place = e.Place })
}

// moveJobs has jobs count for another share.
func (s verbs) moveJobs(e entry.Moved) error {
	moves := func(share shares.ShareID) bool { return e.From == 0 || e.From == share }
	for job := range s.leases.OfTask(e.Task, e.Low, e.High) {
		l := s.leases.Run(job)
		if !moves(l.Home) {
			continue
		}
		l.Home, l.Place = e.Share, e.Place
		if e.Running {
			s.charge(job, l, e.Share)
		}
	}
	return s.putElsewhere(e.Task, e.Low, e.High, func(w *ready.Part) {
		if moves(w.Share) {
			w.Share, w.Place = e.Share, e.Place
		}
	})
}

// charge has another share pay for a lease.
func (s verbs) charge(job int64, l *running.Run, to shares.ShareID) {
	if l.Share == to {
		return
	}
	s.hold(l, -1)
	l.Share = to
	s.hold(l, 1)
	s.sorts.turn(s.claims.Recharged(job, to))
}

// putElsewhere changes where jobs without a lease stand.
func (s verbs) putElsewhere(task, low, high int64, change func(*ready.Part)) error {
	for _, set := range [2]*ready.Set{s.aside.Paused, s.aside.Waiting} {
		user, _ := set.User(task)
		for _, w := range set.Withdraw(task, low, high) {
			change(&w)
			if err := set.Put(w.Key, user, w.Range); err != nil {
				return err
			}
		}
	}
	user, _ := s.ready.User(task)
	list := s.takeOut(task, low, high)
	for i := range list {
		change(&list[i])
	}
	s.eased++
	return s.putBack(user, list)
}
