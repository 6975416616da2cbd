package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// world is the rest of the daemon, as the loop sees it.
type world struct{ *Dispatcher }

// Append is lease.World's.
func (w world) Append(ctx context.Context, b entry.Batch, beside ledger.Beside) (time.Time, error) {
	at, err := w.log.AppendWith(ctx, b, beside)
	if pg.Code(err) == pg.CodeCheckViolation { // no partition: the daemon slept for days
		if _, made := upkeep.Room(ctx, background(w).upkeep()); made == nil {
			at, err = w.log.AppendWith(ctx, b, beside)
		}
	}
	switch {
	case err != nil:
		w.cfg.Log.Warn("an append to the log failed", "seq", b.Seq, "err", err)
	default:
		for _, r := range beside.Refused {
			w.cfg.Log.Error("what was written for the log does not follow it", "row", r.Row, "err", r.Reason)
		}
	}
	return at, err
}

// mostRows bounds the rows of one Gather.
const mostRows = 500

// Gather is lease.World's.
func (w world) Gather(ctx context.Context) ([]ledger.Row, error) {
	rows, err := w.cfg.Outbox.Pending(ctx, mostRows)
	for _, r := range rows {
		err = cmp.Or(err, w.complete(ctx, r.Entries))
	}
	return rows, err
}

// mostRead bounds the batches of one Read.
const mostRead = 500

// Read is lease.World's.
func (w world) Read(ctx context.Context, seq int64) ([]entry.Batch, error) {
	batches, err := w.log.Read(ctx, seq, mostRead)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		if err := w.complete(ctx, b.Entries); err != nil {
			return nil, err
		}
	}
	return batches, nil
}

// complete looks up the sites of entries.
func (w world) complete(ctx context.Context, entries []entry.Entry) error {
	return entry.Complete(entries, func(n int64) (*shares.Version, error) {
		v, err := w.cfg.Site(ctx, n)
		if err != nil {
			err = fmt.Errorf("version %d of the site: %w", n, err)
		}
		return &v, err
	})
}

// Reload is lease.World's.
func (w world) Reload(ctx context.Context) lease.Reloaded {
	m, ttls, err := w.restore(ctx)
	if err != nil {
		return lease.Reloaded{Err: err}
	}
	if v := m.Site(); v.Number > 0 {
		w.site.adopt(&v)
	}
	out := lease.Reloaded{Machine: m, TTLs: ttls}
	out.Err = w.recall(ctx, m, &out)
	return out
}

// recalled is how many batches before those that are not folded a start looks at.
const recalled = 200

// recall reads the last batches that are folded: who leads, and which requests are over.
func (w world) recall(ctx context.Context, m *machine.Machine, out *lease.Reloaded) error {
	seq, _ := m.Stand()
	if seq == 0 {
		return nil
	}
	first := max(0, seq-recalled)
	batches, err := w.log.Read(ctx, first, int(seq-first))
	if errors.Is(err, ledger.ErrDropped) { // by their age: the last one may be there
		if batches, err = w.log.Read(ctx, seq-1, 1); errors.Is(err, ledger.ErrDropped) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	for _, b := range batches {
		for _, e := range b.Entries {
			if g, ok := e.(entry.Granted); ok && g.Request != (entry.ID{}) {
				if _, held := m.Lease(g.Job); !held {
					out.Over = append(out.Over, g.Request)
				}
			}
		}
		if out.At = b.At; !lease.Wishes(b) {
			out.Leader = b.By
		}
	}
	return nil
}

// restore makes the machine of what is folded, as its rows come, and returns the TTLs that renewals asked for, by job.
func (w world) restore(ctx context.Context) (m *machine.Machine, ttls map[int64]int32, err error) {
	s := start{world: w, ctx: ctx, users: map[int64]string{}, kills: map[int64][]*killing{}, ttls: map[int64]int32{}}
	p, err := fold.Load(ctx, w.cfg.Pool, s.sink())
	if err = errors.Join(err, s.err); err != nil {
		return nil, nil, fmt.Errorf("restore: %w", err)
	}
	if p.Seq == 0 {
		return machine.New(w.cfg.Machine), nil, nil
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
	world
	ctx     context.Context //nolint:containedctx // of one call, whose callbacks need it
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
		s.made, err = machine.Restore(s.cfg.Machine, s.check, site, s.shapes)
	}
	s.err = err
	return s.made
}

// adopted is the version in force; before the first one it has nothing.
func (s *start) adopted() (shares.Version, error) {
	if s.version > 0 {
		return s.cfg.Site(s.ctx, s.version)
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

// Look is lease.World's.
func (w world) Look(ctx context.Context, keys []lease.Key) ([]lease.Recorded, error) {
	fences := make([]fold.Fence, len(keys))
	for i, k := range keys {
		fences[i] = fold.Fence(k)
	}
	found, err := fold.Ended(ctx, w.cfg.Pool, fences)
	if err != nil {
		return nil, err
	}
	out := make([]lease.Recorded, len(keys))
	for i, f := range fences {
		if end, ok := found[f]; ok {
			out[i] = lease.Recorded{Is: true, Outcome: end.Outcome, Next: end.Next}
		}
	}
	return out, nil
}

// Send is lease.World's.
func (w world) Send(to int64, m lease.Message) {
	if w.cfg.Send != nil {
		w.cfg.Send(to, m)
	}
}

// Broken is lease.World's.
func (w world) Broken(seq int64, err error) {
	w.cfg.Log.Error("the log and the state of this daemon contradict each other", "batch", seq, "err", err)
}
