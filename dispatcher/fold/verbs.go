package fold

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Kill is a row of kills: it orders the leases of a task with ids from Low to High to end. There is one an entry, however many leases that
// has, and it goes with the task's last lease. Of two about the same lease the later one counts.
type Kill struct {
	Nth    int64
	Task   int64
	Low    int64
	High   int64
	Reason string
	GraceS int32
	Idle   bool // attempts run to their end
}

// Move is a row of moves: what was said of jobs that had a lease, and holds as soon as they have none. Like a Kill it is one row an
// entry and goes with the task's last lease.
type Move struct {
	Nth     int64
	Task    int64
	Low     int64
	High    int64
	At      time.Time
	From    shares.ShareID // jobs of this share; 0: of any
	Share   shares.ShareID // 0: they stay, and stand elsewhere in the order of their share
	Place   int64
	Running bool // the leases are charged to Share from At on
}

// Task is what is known of a task beside its jobs.
type Task struct {
	Paused bool
	Held   int64 // leases, where it has rows of the next two, or gets one
	Kills  []Kill
	Moves  []Move // in the order of Nth
}

// Tasks are those by id.
type Tasks map[int64]*Task

func (ts Tasks) of(id int64) *Task { return of(ts, id, Task{}) }

// TaskChanges are the rows that come and go.
type TaskChanges struct {
	Paused  []int64
	Resumed []int64
	Kills   []Kill
	Moves   []Move
	Settled []int64 // Nth of rows of either that are needed no more
}

func (ts Tasks) clone() Tasks {
	c := Tasks{}
	for id, t := range ts {
		c[id] = &Task{t.Paused, t.Held, slices.Clone(t.Kills), slices.Clone(t.Moves)}
	}
	return c
}

// ready is the state of its jobs that may be granted as far as they go.
func (t *Task) ready() State {
	if t.Paused {
		return Paused
	}
	return Ready
}

// release counts a lease as over.
func (t *Task) release() {
	if t.Held--; t.Held <= 0 {
		*t = Task{Paused: t.Paused}
	}
}

func (ts Tasks) since(before Tasks) (c TaskChanges) {
	for _, id := range slices.Sorted(maps.Keys(ts)) {
		now, was := ts[id], cmp.Or(before[id], &Task{})
		switch {
		case now.Paused && !was.Paused:
			c.Paused = append(c.Paused, id)
		case was.Paused && !now.Paused:
			c.Resumed = append(c.Resumed, id)
		}
		c.Kills = append(c.Kills, fresh(was.Kills, now.Kills, &c.Settled, func(k Kill) int64 { return k.Nth })...)
		c.Moves = append(c.Moves, fresh(was.Moves, now.Moves, &c.Settled, func(m Move) int64 { return m.Nth })...)
	}
	return c
}

// fresh are the rows that were not there before; gone gets those that are there no more. Both lists are in the order of their Nth.
func fresh[R any](was, now []R, gone *[]int64, nth func(R) int64) []R {
	for _, r := range was {
		if len(now) > 0 && nth(now[0]) == nth(r) {
			now = now[1:]
		} else {
			*gone = append(*gone, nth(r))
		}
	}
	return now
}

// standing is a lease as the moves since its grant have it.
type standing struct {
	payer  shares.ShareID // who is charged now
	share  shares.ShareID // where the job counts when the lease is over
	place  int64
	pieces []piece // who was charged before
}

// piece is who was charged for a lease up to a moment.
type piece struct {
	payer shares.ShareID
	until time.Time
}

func (l Lease) now(moves []Move) standing {
	st := standing{payer: l.Share, share: l.Share, place: l.Place}
	for _, m := range moves {
		st.apply(l.Job, l.Nth, m)
	}
	return st
}

// apply has a move change where a lease of a job stands that was granted by the entry nth.
func (st *standing) apply(job, nth int64, m Move) {
	switch {
	case m.Nth <= nth || job < m.Low || job > m.High:
		return
	case m.Share == 0:
		st.place = m.Place
		return
	case m.From != 0 && m.From != st.share:
		return
	}
	st.share, st.place = m.Share, m.Place
	if m.Running && st.payer != m.Share {
		st.pieces = append(st.pieces, piece{st.payer, m.At})
		st.payer = m.Share
	}
}

// pause has the jobs of a task that are ready get no slots, or ends that.
func (s *step) pause(task int64, is bool) {
	from, to := Ready, Paused
	if s.tasks.of(task).Paused = is; !is {
		from, to = to, from
	}
	s.turn(0, maxID, func(r Range) bool { return r.Task == task && r.State == from }, func(l Like) Like {
		l.State = to
		return l
	})
}

// maxID is above all ids; so is maxID+1.
const maxID = 1<<63 - 2

func (s *step) killed(e entry.Killed) {
	s.finish(s.take(e.Low, min(e.High, maxID), func(r Range) bool { return r.Task == e.Task }), Cancelled)
	t := s.tasks.of(e.Task)
	if t.Held == 0 {
		return
	}
	k := Kill{s.nth, e.Task, e.Low, e.High, e.Reason, e.GraceS, e.Idle}
	t.Kills = slices.DeleteFunc(t.Kills, func(old Kill) bool { return k.Low <= old.Low && old.High <= k.High && (old.Idle || !k.Idle) })
	t.Kills = append(t.Kills, k)
}

func (s *step) closed(e entry.Closed) {
	s.finish(s.take(e.Low, min(e.High, maxID), func(r Range) bool { return r.Task == e.Task && r.State == Waiting }), Failed)
}

// finish has jobs be over that have no lease.
func (s *step) finish(taken []Range, state State) {
	for _, r := range taken {
		s.sums.task(r.Task).finish(state, r.Jobs(), s.at)
		if err := s.claims.dropped(r.Low, r.High, s.at); err != nil {
			s.misfit("jobs %d to %d are over: %v", r.Low, r.High, err)
		}
		if last := len(s.over) - 1; last >= 0 && s.over[last].Nth == s.nth && s.over[last].High+1 == r.Low {
			s.over[last].High = r.High
			continue
		}
		s.over = append(s.over, Over{r.Low, r.High, r.Task, s.nth, s.at, state})
	}
}

// moved puts jobs elsewhere in the order of their share, or of another.
func (s *step) moved(m Move) {
	m.Nth, m.At = s.nth, s.at
	s.turn(m.Low, min(m.High, maxID), func(r Range) bool { return r.Task == m.Task && (m.From == 0 || r.Share == m.From) }, func(l Like) Like {
		if l.Place = m.Place; m.Share != 0 {
			l.Share = m.Share
		}
		return l
	})
	t := s.tasks.of(m.Task)
	if t.Held == 0 {
		return
	}
	if m.Running {
		s.recharge(m)
	}
	if m.Share == 0 { // what was said of their place alone counts no more
		t.Moves = slices.DeleteFunc(t.Moves, func(old Move) bool { return old.Share == 0 && m.Low <= old.Low && old.High <= m.High })
	}
	t.Moves = append(t.Moves, m)
}

// Moved is what an entry does to leases that the step does not name.
type Moved struct {
	Counts map[shareQueue]*ShareCount // what changes of jobs and units that shares hold
	Jobs   map[int64]int64            // by party whose claims are charged to the new share: one of its leases
}

func (s *step) recharge(m Move) {
	for _, l := range s.live {
		if l.Task != m.Task {
			continue
		}
		st := l.now(s.tasks.of(m.Task).Moves)
		was := l.Granted
		was.Share = st.payer
		if st.apply(l.Job, l.Nth, m); st.payer == was.Share {
			continue
		}
		s.sums.hold(was, -1)
		was.Share = st.payer
		s.sums.hold(was, +1)
		s.claims.Recharged(l.Job, m.Share)
	}
	for _, c := range s.known.Moved[m.Nth].Counts {
		sum := s.sums.share(c.Share, c.Shape, c.Queue)
		sum.Held += c.Held
		sum.Units += c.Units
	}
	for _, job := range s.known.Moved[m.Nth].Jobs {
		s.claims.Recharged(job, m.Share)
	}
}

// turn makes idle jobs something else, and counts that.
func (s *step) turn(low, high int64, fits func(Range) bool, into func(Like) Like) {
	for _, r := range s.ranges.turn(low, high, fits, into) {
		s.sums.idle(r, -1)
		r.Like = into(r.Like)
		s.sums.idle(r, +1)
	}
}
