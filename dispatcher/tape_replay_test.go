package dispatcher

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/tape"
	"github.com/divvyhq/divvy/shares"
)

// tapePlayer makes the decisions of a tape again, with a state that knows nothing but what the tape says: so a tape has all that
// decisions follow from.
type tapePlayer struct {
	s     *state
	ready map[windowKey]map[int64]readyJob
	where map[int64]windowKey // of ready jobs
	held  map[int64]*grant
	keys  map[int64]windowKey // of held jobs
	stale map[windowKey]bool  // windows that must be read
	at    time.Time
	site  shares.Version

	pulls, grants, forced int
}

func newTapePlayer() *tapePlayer {
	r := &tapePlayer{s: newState(), ready: map[windowKey]map[int64]readyJob{}, where: map[int64]windowKey{}, held: map[int64]*grant{},
		keys: map[int64]windowKey{}, stale: map[windowKey]bool{}}
	r.s.clock = func() time.Time { return r.at }
	r.s.sample.all, r.s.making.pause = true, time.Hour
	return r
}

// Every decision of every tape comes out again.
func TestTapesComeOutAgain(t *testing.T) {
	files, err := filepath.Glob("tape/testdata/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tapes: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl.gz"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			entries, err := tape.Read(f)
			if err != nil {
				t.Fatal(err)
			}
			comesOutAgain(t, entries)
		})
	}
}

func comesOutAgain(t *testing.T, entries []tape.Entry) {
	t.Helper()
	r := newTapePlayer()
	for i, e := range entries {
		if err := r.entry(e); err != nil {
			t.Fatalf("entry %d, after %d pulls and %d grants: %v", i+1, r.pulls, r.grants, err)
		}
	}
	t.Logf("%d pulls and %d grants are the same, %d narrow pulls were taken over", r.pulls, r.grants, r.forced)
}

func (r *tapePlayer) entry(e tape.Entry) error {
	switch s := r.s; {
	case e.Begin != nil:
		s.localWait, r.at = time.Duration(e.Begin.LocalWaitMS)*time.Millisecond, time.UnixMicro(e.Begin.AtUS)
		s.remembered = r.at
	case e.Adopt != nil:
		r.adopt(e.Adopt)
	case e.Shape != nil:
		s.know(e.Shape.ID, e.Shape.Need)
		s.shapes[e.Shape.ID].plain = e.Shape.Plain
	case e.Ready != nil:
		r.enter(e.Ready)
	case e.Withdrawn != nil:
		r.leave(e.Withdrawn)
	case e.Ended != nil:
		r.ended(e.Ended)
	case e.Moved != nil:
		r.moved(e.Moved)
	case e.Backlog != nil:
		s.setBacklog(windowKey{e.Backlog.Share, e.Backlog.Shape}, e.Backlog.N)
	case e.Awaited != nil:
		if g := r.group(*e.Awaited); g != nil {
			s.pass(g, false)
		}
	case e.Remembered != nil:
		r.remember(e.Remembered)
	case e.Seen != nil:
		q := s.queues[e.Seen.Queue]
		if clear(q.pilots); e.Seen.Some {
			q.pilots["p"] = seen{}
		}
		s.pilotsAt(q, e.Seen.Some)
	case e.Elder != nil:
		s.elders.upTo = e.Elder.UpTo
	case e.Pull != nil:
		return r.pull(e.Pull)
	case e.TakeBack != nil:
		r.takeBack(e.TakeBack)
	}
	return nil
}

// adopt puts a version in force with all of its limits in the hands of the one daemon that there is.
func (r *tapePlayer) adopt(a *tape.Adopt) {
	if a.Site != nil {
		r.site = *a.Site
	}
	s := r.s
	s.targets, s.plans.at = nil, time.UnixMicro(a.AtUS)
	for _, t := range a.Targets {
		s.targets = append(s.targets, targetRow{Queue: t.Queue, ShareID: t.Share, Class: t.Class, Slots: t.Slots, Floor: t.Floor})
	}
	all, limits := limitsOf(r.site, nil), map[limitKey]*limit{}
	addTargets(all, r.site, s.targets, nil)
	addResources(all, r.site, nil)
	for key, l := range all {
		limits[key] = &limit{key: key, cap: l.cap, granted: l.cap, dry: true}
	}
	s.adopt(r.site, s.epoch+1, limits)
	for _, of := range s.held {
		for key, h := range of {
			s.spend(key, h.jobs, h.units)
		}
	}
}

// remember is state.remember by what pilots offered then.
func (r *tapePlayer) remember(e *tape.Remembered) {
	s := r.s
	r.at = time.UnixMicro(e.AtUS)
	s.settle()
	for name, p := range s.pools {
		p.book.Remember(e.Rounds[name], r.at.Sub(s.remembered))
	}
	s.remembered = r.at
}

func (r *tapePlayer) group(key tape.Key) *group {
	w := r.s.window(windowKey{key.Share, key.Shape})
	if w == nil {
		return nil
	}
	return w.group
}

func (r *tapePlayer) put(key windowKey, j readyJob) {
	if r.ready[key] == nil {
		r.ready[key] = map[int64]readyJob{}
	}
	r.ready[key][j.id], r.where[j.id], r.stale[key] = j, key, true
}

func (r *tapePlayer) enter(e *tape.Ready) {
	key, before := windowKey{e.Share, e.Shape}, isWaiting
	if e.Made {
		before = isNone
	}
	for _, span := range e.Jobs {
		for id := span[0]; id <= span[1]; id++ {
			r.put(key, readyJob{stand: stand{e.Place, id}, task: e.Task})
		}
		r.s.apply(move{Task: e.Task, Share: e.Share, Shape: e.Shape, Before: before, After: isReady, N: int32(span[1] - span[0] + 1), Place: e.Place, Low: span[0], High: span[1]}, false)
	}
}

func (r *tapePlayer) leave(e *tape.Ready) {
	key := windowKey{e.Share, e.Shape}
	for _, span := range e.Jobs {
		for id := span[0]; id <= span[1]; id++ {
			delete(r.ready[key], id)
			delete(r.where, id)
		}
		r.s.apply(move{Task: e.Task, Share: e.Share, Shape: e.Shape, Before: isReady, After: isWaiting, N: int32(span[1] - span[0] + 1), Place: e.Place, Low: span[0], High: span[1]}, false)
	}
	r.stale[key] = true
}

func (r *tapePlayer) ended(e *tape.Ended) {
	g, key := r.held[e.Job], r.keys[e.Job]
	delete(r.held, e.Job)
	m := move{Task: g.job.task, Share: key.share, Shape: key.shape, Queue: g.queue.ID, Before: isLeased, After: map[string]string{tape.Over: isFinished, tape.Again: isReady, tape.Waits: isWaiting}[e.Next],
		N: 1, Units: g.units, Low: e.Job, High: e.Job, Place: e.Place}
	if e.Next == tape.Again {
		r.put(key, readyJob{stand: stand{e.Place, e.Job}, task: g.job.task})
	}
	r.s.apply(m, true)
}

func (r *tapePlayer) moved(e *tape.Moved) {
	for _, span := range e.Jobs {
		for id := span[0]; id <= span[1]; id++ {
			g := r.held[id]
			m := move{Task: g.job.task, Share: e.From.Share, Shape: e.From.Shape, Queue: g.queue.ID, Before: isLeased, After: isNone, N: 1, Units: g.units}
			r.s.apply(m, true)
			m.Share, m.Shape, m.Before, m.After = e.To.Share, e.To.Shape, isNone, isLeased
			r.s.apply(m, true)
			r.keys[id] = windowKey{e.To.Share, e.To.Shape}
		}
	}
}

func (r *tapePlayer) takeBack(e *tape.TakeBack) {
	g := r.held[e.Job]
	delete(r.held, e.Job)
	g.takeBack()
	r.put(g.window.key, g.job)
}

// fill has the windows that changed know all of their jobs.
func (r *tapePlayer) fill() {
	for key := range r.stale {
		w := r.s.window(key)
		w.jobs = slices.SortedFunc(maps.Values(r.ready[key]), func(a, b readyJob) int {
			return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
		})
		w.behind, w.end, w.cursor = nil, true, stand{math.MaxInt64, math.MaxInt64}
		r.s.check(w)
		delete(r.stale, key)
	}
}

func (r *tapePlayer) pull(e *tape.Pull) error {
	if e.AtUS > 0 {
		r.at = time.UnixMicro(e.AtUS)
	}
	s := r.s
	s.lookAtSupplies()
	r.fill()
	q := s.queues[e.Queue]
	p, err := newPull(PullRequest{Queue: q.Name, Pilot: e.Pilot, Node: e.Node, Devices: e.Devices, Slot: e.Slot, Max: e.Max})
	if err != nil {
		return err
	}
	p.number = e.Number
	if e.Only != nil {
		p.req.Only = *e.Only
	}
	for _, pass := range e.Passed {
		s.pass(r.group(pass.Key), true)
	}
	if p.req.Only.Task != 0 || p.req.Only.User != "" {
		r.force(p, q, e)
		return nil
	}
	verdict := given
	if e.Verdict == tape.Undone {
		r.begin(p, q, len(e.Grants))
	} else {
		verdict = r.decide(p)
	}
	r.pulls++
	got, want := r.outcome(p, verdict), wanted(e)
	if got != want {
		return fmt.Errorf("pull %d (%+v, %d at %s, max %d, %s): %s, want %s", e.Number, e.Slot, r.at.UnixMicro(), q.Name, e.Max, e.Lacked, got, want)
	}
	r.took(p)
	return nil
}

// begin decides on the first jobs of a pull.
func (r *tapePlayer) begin(p *pull, q *queue, n int) {
	left := job.RoomOf(p.req.Slot, q.Queue)
	for needs := newNeeds(0); len(p.grants) < n; {
		g, verdict := r.s.decideOne(p, q, left, needs)
		if verdict != given {
			return
		}
		p.grants, left = append(p.grants, g), left.Without(g.window.shape.need)
	}
}

// decide decides until nothing is lacking any more.
func (r *tapePlayer) decide(p *pull) decision {
	for {
		n := newNeeds(0)
		verdict := r.s.decide(p, n)
		if verdict != blocked || n.making {
			return verdict
		}
		(&Dispatcher{state: r.s}).unGrant(p)
		for w := range n.windows {
			r.stale[w.key] = true
		}
		r.fill()
		for l, lacks := range n.limits {
			if l.unmade { // nobody has used it yet
				l.unmade, l.granted = false, l.cap
				l.ease()
				continue
			}
			l.dry, l.refused = true, lacks
		}
	}
}

// force grants what a pull got that took jobs of one task or user only.
func (r *tapePlayer) force(p *pull, q *queue, e *tape.Pull) {
	r.forced++
	for _, g := range e.Grants {
		w := r.s.window(windowKey{g.Share, g.Shape})
		j := r.ready[w.key][g.Job]
		w.drop(j.stand)
		r.s.check(w)
		p.grants = append(p.grants, r.s.give(p, q, choice{window: w, job: &j, units: g.Units}, nil, newNeeds(0)))
	}
	r.took(p)
}

// took counts the grants of a pull as held.
func (r *tapePlayer) took(p *pull) {
	for _, g := range p.grants {
		r.grants++
		delete(r.ready[g.window.key], g.job.id)
		delete(r.where, g.job.id)
		delete(r.s.inflight, g.job.id)
		r.held[g.job.id], r.keys[g.job.id] = g, g.window.key
	}
}

func (r *tapePlayer) outcome(p *pull, verdict decision) string {
	if verdict == blocked {
		return tape.Making
	}
	var jobs []string
	for _, g := range p.grants {
		jobs = append(jobs, fmt.Sprintf("%d of %d (%d units)", g.job.id, g.window.key.share, g.units))
	}
	return cmp.Or(strings.Join(jobs, ", "), tape.None)
}

func wanted(e *tape.Pull) string {
	var jobs []string
	for _, g := range e.Grants {
		jobs = append(jobs, fmt.Sprintf("%d of %d (%d units)", g.Job, g.Share, g.Units))
	}
	return cmp.Or(strings.Join(jobs, ", "), e.Verdict)
}
