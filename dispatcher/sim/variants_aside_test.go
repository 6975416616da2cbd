package sim

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// asideVariants break what is promised of paused tasks, of jobs that wait for a rule or get another place, and of jobs that are not made after all.
var asideVariants = []variant{
	{"paused-is-granted", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Paused); ok {
			return nil
		}
		return e
	})},
	{"paused-for-ever", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Resumed); ok {
			return nil
		}
		return e
	})},
	{"pause-of-those-that-are-there", "", pauseOnce},
	{"pause-is-kill", "", rewritten(func(e entry.Entry) entry.Entry {
		if p, ok := e.(entry.Paused); ok {
			return entry.Killed{Task: p.Task, Low: p.Task, High: p.Task + 1000, Reason: "paused"}
		}
		return e
	})},
	{"start-without-pauses", "", startWithout(func(c *machine.Checkpoint) { c.Paused = nil })},
	{"start-without-pauses-unseen", "", starting(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Paused); ok {
			return nil
		}
		return e
	})},
	{"start-without-waits", "", starting(waitsNot)},
	{"wait-ignored", "", rewritten(waitsNot)},
	{"closed-is-not-over", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Closed); ok {
			return nil
		}
		return e
	})},
	{"closed-is-tried-again", "", machines(func(m lease.Machine) lease.Machine {
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			c, ok := e.(entry.Closed)
			if !ok {
				return m.Apply(e)
			}
			for attempt := range int32(9) { // whichever is next
				if err := m.Apply(entry.Enqueued{Task: c.Task, Shape: 1, Low: c.Low, High: c.High, Attempt: attempt + 2, User: users[0]}); err != nil {
					return err
				}
			}
			return nil
		}}
	})},
	{"retry-of-one", "", rewritten(func(e entry.Entry) entry.Entry {
		if q, ok := e.(entry.Enqueued); ok && q.Attempt > 1 {
			q.High = q.Low
			return q
		}
		return e
	})},
	{"retry-at-its-old-place", "", oldPlace},
	{"unmade-is-waited-for", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Dropped); ok {
			return nil
		}
		return e
	})},
	{"leased-is-dropped", "", machines(func(m lease.Machine) lease.Machine {
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			p, ok := e.(entry.Paused)
			for l := range m.Leases() {
				if ok && l.Task == p.Task {
					if err := m.Apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Returned, Next: l.Becomes(entry.Returned, entry.Again)}); err != nil {
						return err
					}
					break
				}
			}
			return m.Apply(e)
		}}
	})},
}

// asideWanted is what must be said of them.
var asideWanted = map[string]string{
	"paused-is-granted": "its task is paused", "paused-for-ever": "the machine has job", "pause-of-those-that-are-there": "the machine has job",
	"pause-is-kill": "", "start-without-pauses": "another state", "start-without-pauses-unseen": "its task is paused",
	"start-without-waits": "waits for a rule", "wait-ignored": "waits for a rule", "closed-is-not-over": "the machine has job",
	"closed-is-tried-again": "is over and is granted again", "retry-of-one": "the machine has job", "retry-at-its-old-place": "is granted at place",
	"unmade-is-waited-for": "the machine has claim", "leased-is-dropped": "",
}

// waitsNot has jobs be tried again at once where a rule is to decide.
func waitsNot(e entry.Entry) entry.Entry {
	if end, ok := e.(entry.Ended); ok && end.Next == entry.Waits {
		end.Next = entry.Again
		return end
	}
	return e
}

// pauseOnce has a pause end where jobs of the task are announced, or wait no more.
func pauseOnce(w *Wiring) {
	machines(func(m lease.Machine) lease.Machine {
		paused := map[int64]bool{}
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			switch e := e.(type) {
			case entry.Paused:
				paused[e.Task] = true
			case entry.Resumed:
				delete(paused, e.Task)
			case entry.Enqueued:
				if paused[e.Task] {
					delete(paused, e.Task)
					if err := m.Apply(entry.Resumed{Task: e.Task}); err != nil {
						return err
					}
				}
			}
			return m.Apply(e)
		}}
	})(w)
}

// oldPlace has jobs that waited stand where their retry says, though they were moved or placed meanwhile.
func oldPlace(w *Wiring) {
	machines(func(m lease.Machine) lease.Machine {
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			q, ok := e.(entry.Enqueued)
			if err := m.Apply(e); err != nil || !ok || q.Attempt == 1 {
				return err
			}
			return m.Apply(entry.Placed{Task: q.Task, Low: q.Low, High: q.High, Place: q.Place + 1})
		}}
	})(w)
}

// starting has machines apply other entries than the log has as long as a daemon starts. That their state is another one is not looked at.
func starting(change func(e entry.Entry) entry.Entry) func(*Wiring) {
	return func(w *Wiring) {
		inner := w.Machine
		w.Machine = func(slots [2]int) lease.Machine { return &amnesiac{Machine: inner(slots), change: change} }
		w.Reload = func(t *Tables, _ int) lease.Reloaded {
			started := t.new
			defer func() { t.new = started }()
			t.new = func() lease.Machine {
				m := started()
				m.(*amnesiac).starts = true
				return m
			}
			r := t.Machine(t.Folded)
			r.Machine.(*amnesiac).starts = false
			return r
		}
	}
}

type amnesiac struct {
	lease.Machine
	starts bool
	change func(e entry.Entry) entry.Entry
}

func (a *amnesiac) Digest() [32]byte { return [32]byte{} }

func (a *amnesiac) Apply(e entry.Entry) error {
	if a.starts {
		if e = a.change(e); e == nil {
			return nil
		}
	}
	return a.Machine.Apply(e)
}
