package machine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// Checkpoint is the part of the state that is in no table of jobs and leases: whoever has it, the site, the shapes, the ready ranges
// and the leases of the same batch, has the whole state. It takes some hundred bytes a share and a user.
type Checkpoint struct {
	Seq      int64            `json:"seq"`
	ID       entry.ID         `json:"id"`
	Now      time.Time        `json:"now"`
	Version  int64            `json:"version"` // of the site
	Targets  []entry.Target   `json:"targets,omitempty"`
	Polled   []shares.QueueID `json:"polled,omitempty"`
	Expected []entry.Expected `json:"expected,omitempty"`
	Stood    []entry.Stood    `json:"stood,omitempty"` // as Stood has it; one of before is better than none
	Claims   *gate.Saved      `json:"claims,omitempty"`
	Paused   []int64          `json:"paused,omitempty"` // tasks
	Leases   running.Saved    `json:"leases"`
	Capped   *entry.Capped    `json:"capped,omitempty"`
	Reports  []entry.Reported `json:"reports,omitempty"`
}

// Checkpoint returns it as of the batch at which the machine stands: all of its entries were applied, and none after it.
func (m *Machine) Checkpoint() Checkpoint {
	t := m.site
	c := Checkpoint{Seq: m.seq, ID: m.id, Now: m.now, Version: t.File.Number, Targets: t.Targets, Capped: t.Capped, Stood: m.Stood(),
		Polled: slices.Sorted(maps.Keys(m.supplies.polled)), Claims: m.claims.Save(), Paused: m.aside.Tasks(), Leases: m.leases.Save(),
		Reports: m.supplies.Reports()}
	for b := range m.ready.Buffers() {
		if n := m.buffers[b.Key()].expected; n > 0 {
			c.Expected = append(c.Expected, entry.Expected{Share: b.Key().Share, Shape: b.Key().Shape, Jobs: n})
		}
	}
	return c
}

// Restoring makes a machine of a checkpoint and of what the tables have of its batch: Ready and Lease take their rows, in any order,
// and Done returns the machine. Their errors say what of the tables does not go together; the machine is of no use then.
type Restoring struct {
	machine *Machine
	from    Checkpoint
}

// Restore begins with the site and the shapes.
func Restore(cfg Config, c Checkpoint, site shares.Version, shapes []entry.Shaped) (*Restoring, error) {
	m := New(cfg)
	m.now = c.Now
	if err := m.claims.Restore(c.Claims, c.Now); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	for _, e := range shapes {
		if err := m.know(e); err != nil {
			return nil, fmt.Errorf("restore: %w", err)
		}
	}
	if site.Number != c.Version {
		return nil, fmt.Errorf("restore: version %d of the site, the checkpoint has %d", site.Number, c.Version)
	}
	for _, q := range c.Polled {
		m.supplies.polled[q] = true
	}
	for _, task := range c.Paused {
		m.aside.Pause(task)
	}
	m.build(books.Source{File: site, Targets: c.Targets, Capped: c.Capped})
	return &Restoring{m, c}, nil
}

// Ready takes jobs that are ready, or would be if their task were not paused.
func (r *Restoring) Ready(e entry.Enqueued) error {
	return r.machine.sorts.put(e.User, jobsOf(e), false)
}

// Waiting takes jobs that wait for a rule.
func (r *Restoring) Waiting(e entry.Enqueued) error {
	jobs := jobsOf(e)
	return r.machine.aside.Waiting.Put(jobs.Key, e.User, jobs.Range)
}

// Lease takes a lease, and since when its attempt runs, or was granted where it does not yet.
func (r *Restoring) Lease(l Lease, since time.Time) error {
	m := r.machine
	switch {
	case m.words.shapes[l.Shape] == nil:
		return fmt.Errorf("restore: shape %d of job %d is not known", l.Shape, l.Job)
	case m.leases.Run(l.Job) != nil:
		return fmt.Errorf("restore: job %d has two leases", l.Job)
	}
	m.leases.Restore(l, since)
	m.hold(m.leases.Run(l.Job), 1)
	return nil
}

// Killed takes what was said of jobs that had a lease then, in the order of the log, when all leases are there. The jobs of but were
// made after it.
func (r *Restoring) Killed(e entry.Killed, but []int64) {
	r.machine.leases.Kill(e)
	for _, job := range but {
		r.machine.leases.Made(e.Task, job, job)
	}
}

// Done puts in what is in no table, and returns the machine.
func (r *Restoring) Done() (*Machine, error) {
	m := r.machine
	for _, e := range r.from.Expected {
		if err := m.expect(e); err != nil {
			return nil, fmt.Errorf("restore: expected: %w", err)
		}
	}
	for _, e := range r.from.Reports {
		m.supplies.Report(e, m.now)
	}
	m.leases.Remind(r.from.Leases)
	for e := range m.Ranges() {
		m.leases.Made(e.Task, e.Low, e.High) // a kill that names them was before them
	}
	m.recall(r.from.Stood)
	m.Reach(r.from.Seq, r.from.ID)
	return m, nil
}

// Stood says what a machine that is made of tables lacks: one for each pool, and one without a pool for the rest.
func (m *Machine) Stood() []entry.Stood {
	return append(m.site.Stood(m.served.Kept()), entry.Stood{Rest: &entry.Rest{PlansAt: m.site.At, Servings: m.served.N, Elders: m.elders.Save(),
		Waited: m.supplies.Waited(), Holes: m.holes.List()}})
}

// stand takes the values of a pool, or of the rest, in place of its own. Who has them already does nothing: that are all but those who
// began with tables.
func (m *Machine) stand(e entry.Stood) {
	list := m.Stood()
	if i := slices.IndexFunc(list, func(s entry.Stood) bool { return s.Pool == e.Pool }); i >= 0 && !list[i].Same(e) {
		list[i] = e
		m.recall(list)
		m.eased++
	}
}

// recall makes the site anew, with these values and no others.
func (m *Machine) recall(list []entry.Stood) {
	now, rest := m.now, entry.RestOf(list)
	m.served.Remind(list)
	gate.Forget(m.supplies.Supplies)
	if rest != nil {
		m.now = rest.PlansAt
	}
	m.build(m.site.Source)
	m.now = now
	m.site.Remind(list)
	m.site.RemindTurns(list)
	if rest != nil {
		m.elders, m.holes = ready.AgesOf(rest.Elders), books.Holes{}
		for _, h := range rest.Holes {
			m.holes[h.Queue] = h
		}
		for _, w := range rest.Waited {
			m.supplies.Remind(w)
		}
	}
}
