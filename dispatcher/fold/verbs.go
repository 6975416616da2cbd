package fold

import (
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

// Tasks is what is known of tasks beside their jobs.
type Tasks struct {
	Paused map[int64]bool
	Held   map[int64]int64 // leases: of those that have a row below, or get one
	Kills  map[int64][]Kill
	Moves  map[int64][]Move // in the order of Nth
}

// TaskChanges are the rows that come and go.
type TaskChanges struct {
	Paused  []int64
	Resumed []int64
	Kills   []Kill
	Moves   []Move
	Settled []int64 // Nth of rows of either that are needed no more
}

func (ts Tasks) clone() Tasks {
	c := Tasks{Paused: map[int64]bool{}, Held: map[int64]int64{}, Kills: map[int64][]Kill{}, Moves: map[int64][]Move{}}
	maps.Copy(c.Paused, ts.Paused)
	maps.Copy(c.Held, ts.Held)
	for task, list := range ts.Kills {
		c.Kills[task] = slices.Clone(list)
	}
	for task, list := range ts.Moves {
		c.Moves[task] = slices.Clone(list)
	}
	return c
}

// ready is the state of a task's jobs that may be granted as far as they go.
func (ts Tasks) ready(task int64) State {
	if ts.Paused[task] {
		return Paused
	}
	return Ready
}

// release counts a lease of a task as over.
func (ts Tasks) release(task int64) {
	if ts.Held[task]--; ts.Held[task] <= 0 {
		delete(ts.Held, task)
		delete(ts.Kills, task)
		delete(ts.Moves, task)
	}
}

// since are the changes from before to now.
func (ts Tasks) since(before Tasks) (c TaskChanges) {
	for task := range ts.Paused {
		if !before.Paused[task] {
			c.Paused = append(c.Paused, task)
		}
	}
	for task := range before.Paused {
		if !ts.Paused[task] {
			c.Resumed = append(c.Resumed, task)
		}
	}
	gone := map[int64]bool{}
	c.Kills = newRows(before.Kills, ts.Kills, gone, func(k Kill) int64 { return k.Nth })
	c.Moves = newRows(before.Moves, ts.Moves, gone, func(m Move) int64 { return m.Nth })
	c.Settled = slices.Sorted(maps.Keys(gone))
	slices.Sort(c.Paused)
	slices.Sort(c.Resumed)
	return c
}

// newRows are those that were not there before, in their order; gone gets those that are there no more.
func newRows[R any](before, now map[int64][]R, gone map[int64]bool, nth func(R) int64) (fresh []R) {
	old := map[int64]bool{}
	for _, list := range before {
		for _, r := range list {
			old[nth(r)], gone[nth(r)] = true, true
		}
	}
	for _, list := range now {
		for _, r := range list {
			if delete(gone, nth(r)); !old[nth(r)] {
				fresh = append(fresh, r)
			}
		}
	}
	slices.SortFunc(fresh, func(a, b R) int { return int(nth(a) - nth(b)) })
	return fresh
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

// now applies the moves of a lease's task to it.
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
	if is {
		s.tasks.Paused[task] = true
	} else {
		delete(s.tasks.Paused, task)
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
	if s.tasks.Held[e.Task] == 0 {
		return
	}
	k := Kill{s.nth, e.Task, e.Low, e.High, e.Reason, e.GraceS, e.Idle}
	list := slices.DeleteFunc(s.tasks.Kills[e.Task], func(old Kill) bool { return k.Low <= old.Low && old.High <= k.High && (old.Idle || !k.Idle) })
	s.tasks.Kills[e.Task] = append(list, k)
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
	if s.tasks.Held[m.Task] == 0 {
		return
	}
	if m.Running {
		s.recharge(m)
	}
	list := s.tasks.Moves[m.Task]
	if m.Share == 0 { // what was said of their place alone counts no more
		list = slices.DeleteFunc(list, func(old Move) bool { return old.Share == 0 && m.Low <= old.Low && old.High <= m.High })
	}
	s.tasks.Moves[m.Task] = append(list, m)
}

// Moved is what an entry does to leases that the step does not name.
type Moved struct {
	Counts map[shareQueue]*ShareCount // what changes of jobs and units that shares hold
	Jobs   map[int64]int64            // by party whose claims are charged to the new share: one of its leases
}

// recharge counts leases for the share to which they are moved.
func (s *step) recharge(m Move) {
	for _, l := range s.live {
		if l.Task != m.Task {
			continue
		}
		st := l.now(s.tasks.Moves[m.Task])
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
