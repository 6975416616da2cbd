package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
)

// ErrElsewhere is that a comparison cannot begin there: the batch is not one of this log, or not folded yet.
var ErrElsewhere = errors.New("the log that is folded does not go on from the checkpoint")

// Since is what is known of the state after a batch, where the log before it is gone. What tables say of the time before is not in it: secrets of
// leases, when they were granted, what was over by then, and sums.
type Since struct {
	Position
	Version  int64     // of the site; 0: none
	Now      time.Time // of the last Tick
	Ranges   []Range   // in any order
	Leases   []Holding // Share pays; StartDelayMS is -1 where the attempt does not run
	Users    map[int64]string
	Cores    map[int32]int64
	Paused   []int64 // tasks
	Claims   *gate.Saved
	Expected []entry.Expected
}

// CompareSince is Compare from a batch on. It leaves out of each table what nobody can know who has the state of then and the log since; of
// leases from before it compares what they hold. ErrElsewhere: it has compared nothing.
func (f *Folder) CompareSince(ctx context.Context, s Since) ([]Difference, error) {
	return f.compare(ctx, &s)
}

// begun is where a comparison began, and what is not known since then. The zero value is the beginning of the log.
type begun struct {
	from    Position
	nth     int64 // of the last entry before; 0: there is none
	unknown map[UsageKey]bool
	moves   map[int64][]Move // as the table has them
}

// begin has the step stand where a checkpoint did.
func (c *comparison) begin(ctx context.Context, f *Folder, s *Since) error {
	c.unknown = map[UsageKey]bool{}
	if s == nil {
		return nil
	}
	c.from, c.nth = s.Position, Nth(s.Seq+1, 0)-1
	c.step.known.Users, c.step.known.Cores = s.Users, s.Cores
	for _, task := range s.Paused {
		c.step.tasks.of(task).Paused = true
	}
	slices.SortFunc(s.Ranges, byHigh)
	for _, r := range s.Ranges {
		if r.State == Ready {
			r.State = c.step.tasks.of(r.Task).ready()
		}
		c.step.add(r)
	}
	for _, l := range s.Leases {
		c.step.resume(l, s.At)
	}
	for _, e := range s.Expected {
		c.step.waitedOf(e.Share, e.Shape).add(e.Jobs)
	}
	known := Claims{Now: s.Now}
	if s.Claims != nil {
		for _, r := range s.Claims.Claims {
			known.Rows = append(known.Rows, Claim{SavedClaim: r})
		}
		for i, p := range s.Claims.Parties {
			known.Parties = append(known.Parties, Party{p, int64(i + 1)})
		}
	}
	var err error
	if s.Version > 0 && f.sites != nil {
		if known.Site, err = f.site(ctx, s.Version); err != nil {
			return err
		}
	}
	if c.step.claims, err = newClaims(known); err != nil {
		return fmt.Errorf("claims of the checkpoint: %w", err)
	}
	c.step.claims.known = Claims{} // all of them are what the tables should have
	return nil
}

// resume has a job hold a lease that it had at a moment. That the job comes back elsewhere is said as the log said it.
func (s *step) resume(h Holding, at time.Time) {
	l := h.Lease
	l.Nth, l.GrantedAt = 0, at
	s.live[l.Job] = &lease{Lease: l, isNew: true}
	t := s.tasks.of(l.Task)
	t.Held++
	if h.Home != l.Share {
		t.Moves = append(t.Moves, Move{Nth: 1, Task: l.Task, Low: l.Job, High: l.Job, Share: h.Home, Place: l.Place})
	}
	s.sums.hold(l.Granted, +1)
}

// isNew says whether an entry came after the comparison began.
func (c *comparison) isNew(nth int64) bool { return nth > c.nth }

// isOld says whether something was before it began, as far as times tell.
func (c *comparison) isOld(at time.Time) bool { return c.from.Seq > 0 && !at.After(c.from.At) }

// isAfter says whether an hour or day began after the comparison.
func (c *comparison) isAfter(ms, step int64) bool {
	return c.from.Seq == 0 || ms > floor(c.from.At.UnixMilli(), step)
}

// held reads the table of moves, and returns what is known of leases.
func (c *comparison) held(ctx context.Context, want []Lease) (list []Holding, err error) {
	c.moves = map[int64][]Move{}
	if c.from.Seq > 0 {
		err = askAll(ctx, c.tx, "moves", func(r *row) {
			m := r.move()
			c.moves[m.Task] = append(c.moves[m.Task], m)
		})
	}
	moves := map[int64][]Move{}
	for id, t := range c.step.tasks {
		moves[id] = t.Moves
	}
	for _, l := range want {
		list = append(list, c.holding(l, moves))
	}
	return list, err
}

// holding is what is known of a lease: of one from before, where it stands now, without what only its grant said.
func (c *comparison) holding(l Lease, moves map[int64][]Move) Holding {
	if c.isNew(l.Nth) {
		return Holding{Lease: l}
	}
	h := l.holding(moves)
	h.Nth, h.Nonce, h.Request, h.GrantedAt = 0, 0, entry.ID{}, time.Time{}
	h.StartDelayMS, h.TTLS, h.Reason, h.GraceS = min(h.StartDelayMS, 0), 0, "", 0
	return h
}

func (c *comparison) claim(r Claim) string {
	if c.isOld(r.EndedAt) && !r.EndedAt.IsZero() {
		return ""
	}
	for _, at := range []*time.Time{&r.MadeAt, &r.BoundAt} {
		if c.isOld(*at) {
			*at = time.Time{}
		}
	}
	return r.text()
}

func (c *comparison) party(p Party) string {
	if !c.isNew(p.Nth) {
		p.Nth = 0
	}
	return p.text()
}

func (c *comparison) span(s PartySpan) (PartySpan, bool) {
	if !c.isNew(s.Party) {
		s.Party = 0
	}
	return s, true
}

// taskCount leaves out how many jobs are over, and when the first one began.
func (c *comparison) taskCount(t TaskCount) (TaskCount, bool) {
	if c.from.Seq == 0 {
		return t, true
	}
	return TaskCount{Task: t.Task, Ready: t.Ready, Paused: t.Paused, Held: t.Held, Waiting: t.Waiting}, true
}

func (c *comparison) dayUsage(u Usage) (Usage, bool) { return u, c.isAfter(u.AtMS, dayMS) }

// nodeUsage leaves out where an attempt ended that is from before: its whole cost counts then.
func (c *comparison) nodeUsage(u Usage) (Usage, bool) {
	return u, c.isAfter(u.AtMS, dayMS) && !c.unknown[u.UsageKey]
}

// latest leaves out of what nothing was said since.
func (c *comparison) latest(want []Latest) func(Latest) (Latest, bool) {
	said := map[Latest]bool{}
	for _, l := range want {
		l.Entry = ""
		said[l] = true
	}
	return func(l Latest) (Latest, bool) {
		key := l
		key.Entry = ""
		return l, c.from.Seq == 0 || said[key]
	}
}

// attempt leaves out what ended before, and of attempts from before what is not known.
func (c *comparison) attempt(a Attempt) (Attempt, bool) {
	if c.isOld(a.GrantedAt) {
		a.GrantedAt, a.Nonce, a.StartDelayMS = time.Time{}, 0, 0
	}
	return a, !c.isOld(a.EndedAt)
}
