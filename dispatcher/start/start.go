package start

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Load makes the machine of what is folded, as its rows come, and returns the TTLs in seconds that renewals asked for, by job.
func Load(ctx context.Context, db fold.DB, sites fold.Sites, cfg machine.Config) (m *machine.Machine, ttls map[int64]int32, err error) {
	s := start{ctx: ctx, sites: sites, cfg: cfg, users: map[int64]string{}, kills: map[int64][]*killing{}, ttls: map[int64]int32{}}
	p, err := fold.Load(ctx, db, s.sink())
	if err = errors.Join(err, s.err); err != nil {
		return nil, nil, fmt.Errorf("restore: %w", err)
	}
	if p.Seq == 0 {
		return machine.New(cfg), nil, nil
	}
	if s.begin() == nil {
		return nil, nil, fmt.Errorf("restore: %w", s.err)
	}
	if m, err = s.done(); err == nil {
		m.Reach(p.Seq, p.ID)
	}
	return m, s.ttls, err
}

// start is a machine that is being made of the tables.
type start struct {
	ctx     context.Context //nolint:containedctx // of one call, whose callbacks need it
	sites   fold.Sites
	cfg     machine.Config
	check   machine.Checkpoint
	version int64
	shapes  []entry.Shaped
	users   map[int64]string
	kills   map[int64][]*killing // by task
	ttls    map[int64]int32      // by job
	killed  []*killing           // in the order of the log
	said    []entry.Entry        // that the machine follows when all is there
	made    *machine.Restoring   // nil until all entries are there
	err     error
}

// killing is a kill of jobs that had a lease, and those that were made after it.
type killing struct {
	fold.Kill
	but []int64
}

// sink takes all that the tables have.
func (s *start) sink() fold.Sink {
	return fold.Sink{
		Entry:    s.entry,
		Expected: func(e entry.Expected) { s.check.Expected = append(s.check.Expected, e) },
		User:     func(task int64, user string) { s.users[task] = user },
		Paused:   func(task int64) { s.check.Paused = append(s.check.Paused, task) },
		Claims:   func(saved *gate.Saved) { s.check.Claims = saved },
		Range:    s.idle,
		Lease:    s.held,
		Kill: func(of fold.Kill) {
			k := &killing{Kill: of}
			s.killed, s.kills[k.Task] = append(s.killed, k), append(s.kills[k.Task], k)
		},
	}
}

// entry takes the newest entry of a kind.
func (s *start) entry(e entry.Entry) {
	switch e := e.(type) {
	case entry.Shaped:
		s.shapes = append(s.shapes, e)
	case entry.Adopted:
		s.version = e.Number
	case entry.Bounded:
		s.check.Targets = e.Targets
	case entry.Polled:
		if e.Is {
			s.check.Polled = append(s.check.Polled, e.Queue)
		}
	case entry.Tick:
		s.check.Now = e.Now
	case entry.Capped:
		s.check.Capped = &e
	case entry.Reported:
		s.check.Reports = append(s.check.Reports, e)
	case entry.Stood:
		s.check.Stood = append(s.check.Stood, e)
	case entry.Holed, entry.Owed:
		s.said = append(s.said, e)
	}
}

// begin makes the machine of all that comes before ranges and leases.
func (s *start) begin() *machine.Restoring {
	if s.made != nil || s.err != nil {
		return s.made
	}
	s.check.Version = s.version
	site, err := s.adopted()
	if err == nil {
		s.made, err = machine.Restore(s.cfg, s.check, site, s.shapes)
	}
	s.err = err
	return s.made
}

// adopted is the version in force; before the first one it has nothing.
func (s *start) adopted() (shares.Version, error) {
	if s.version > 0 {
		return s.sites(s.ctx, s.version)
	}
	tree, err := shares.Build(nil)
	return shares.Version{Tree: tree}, err
}

// idle takes jobs without a lease.
func (s *start) idle(r fold.Range) {
	m := s.begin()
	if m == nil {
		return
	}
	take := m.Ready
	if r.State == fold.Waiting {
		take = m.Waiting
	}
	s.err = errors.Join(s.err, take(entry.Enqueued{Task: r.Task, Share: r.Share, Shape: r.Shape, Place: r.Place, Low: r.Low, High: r.High,
		Attempt: r.Attempt, User: s.users[r.Task]}))
}

func (s *start) held(l fold.Holding) {
	m := s.begin()
	if m == nil {
		return
	}
	for _, k := range s.kills[l.Task] {
		if k.Nth < l.Nth && k.Low <= l.Job && l.Job <= k.High {
			k.but = append(k.but, l.Job)
		}
	}
	if l.TTLS > 0 {
		s.ttls[l.Job] = l.TTLS
	}
	held := machine.Lease{Granted: l.Granted, User: s.users[l.Task], Started: l.StartDelayMS >= 0, Home: l.Home}
	if l.Reason != "" {
		held.Order = &machine.Order{Reason: l.Reason, GraceS: l.GraceS}
	}
	s.err = errors.Join(s.err, m.Lease(held, l.GrantedAt.Add(max(0, time.Duration(l.StartDelayMS))*time.Millisecond)))
}

// done puts in what needs all jobs and leases. What is left of debts is in no table but Stood: one that was said since is said again.
func (s *start) done() (*machine.Machine, error) {
	for _, k := range s.killed {
		s.made.Killed(entry.Killed{Task: k.Task, Low: k.Low, High: k.High, Reason: k.Reason, GraceS: k.GraceS, Idle: k.Idle}, k.but)
	}
	m, err := s.made.Done()
	for _, e := range s.said {
		if _, owed := e.(entry.Owed); err == nil && !(owed && len(s.check.Stood) > 0) {
			err = m.Apply(e)
		}
	}
	return m, err
}
