package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// player makes the decisions of a tape again.
type player struct {
	m          *Machine
	site       shares.Version
	remembered time.Time
	decisions  int
	grants     int
	softs      int
}

func micro(us int64) time.Time { return time.UnixMicro(us).UTC() }

// play applies one entry; a difference is what it returns.
func (p *player) play(t *testing.T, e tapeEntry) string {
	apply := func(e entry.Entry) {
		t.Helper()
		if err := p.m.Apply(e); err != nil {
			t.Fatalf("%#v: %v", e, err)
		}
	}
	switch {
	case e.Begin != nil:
		p.m = New(Config{LocalWait: time.Duration(e.Begin.LocalWaitMS) * time.Millisecond})
		p.remembered = micro(e.Begin.AtUS)
		p.m.now = p.remembered
	case e.Adopt != nil:
		p.adopt(e.Adopt)
	case e.Shape != nil:
		apply(entry.Shaped{Shape: e.Shape.ID, Need: e.Shape.Need})
	case e.Ready != nil:
		for _, span := range e.Ready.Jobs {
			task, user := p.taskOf(e.Ready)
			r := entry.Enqueued{Task: task, User: user, Share: e.Ready.Share, Shape: e.Ready.Shape, Place: e.Ready.Place,
				Low: span[0], High: span[1], Attempt: 2}
			if e.Ready.Made {
				r.Attempt = 1
			}
			if e.Ready.Made {
				apply(r)
				continue
			}
			p.m.aside.Waiting.Withdraw(e.Ready.Task, r.Low, r.High)
			p.m.aside.Waiting.Withdraw(-e.Ready.Task, r.Low, r.High)
			if err := p.m.sorts.put(r.User, jobsOf(r), false); err != nil {
				t.Fatalf("%#v: %v", r, err)
			}
			p.m.elders.Saw(r.High)
			p.m.eased++
		}
	case e.Withdrawn != nil:
		for _, span := range e.Withdrawn.Jobs {
			for _, task := range []int64{e.Withdrawn.Task, -e.Withdrawn.Task} {
				apply(entry.Killed{Task: task, Low: span[0], High: span[1]})
			}
		}
	case e.Ended != nil:
		l, ok := p.m.Lease(e.Ended.Job)
		if !ok {
			t.Fatalf("job %d ended and has no lease", e.Ended.Job)
		}
		if e.Ended.Next == tapeAgain && e.Ended.Place != l.Place { // it was given another place meanwhile
			apply(entry.Placed{Task: l.Task, Low: l.Job, High: l.Job, Place: e.Ended.Place})
		}
		apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Next(e.Ended.Next[0])})
	case e.Moved != nil:
		for _, span := range e.Moved.Jobs {
			for id := span[0]; id <= span[1]; id++ {
				if l := p.m.leases.Run(id); l != nil { // another shape is for the old core alone: it named users
					p.m.hold(l, -1)
					l.Share, l.Home, l.Shape = e.Moved.To.Share, e.Moved.To.Share, e.Moved.To.Shape
					p.m.hold(l, 1)
				}
			}
		}
	case e.Backlog != nil:
		apply(entry.Expected{Share: e.Backlog.Share, Shape: e.Backlog.Shape, Jobs: e.Backlog.N})
	case e.Awaited != nil:
		if b := p.m.buffers[ready.Key{Share: e.Awaited.Share, Shape: e.Awaited.Shape}]; b != nil && b.group != nil {
			p.m.pass(b.group, false)
		}
	case e.Remembered != nil:
		p.m.now, p.remembered = p.remembered, micro(e.Remembered.AtUS)
		elders := p.m.elders
		apply(p.tick(e.Remembered.Rounds))
		p.m.elders = elders // the tape says who is, by another clock
	case e.Seen != nil:
		apply(entry.Polled{Queue: e.Seen.Queue, Is: e.Seen.Some})
	case e.Elder != nil:
		p.m.elders.UpTo = e.Elder.UpTo
	case e.Pull != nil:
		return p.pull(e.Pull)
	}
	return ""
}

// taskOf is the task of jobs, and whose they are. The old core gave turns to users by shapes that named them. While it had not brought
// jobs of a share into such shapes yet they were those of one user more: here they are of a task without a user.
func (p *player) taskOf(r *tapeReady) (task int64, user string) {
	if user = p.m.words.shapes[r.Shape].full.User; user == "" && r.User != "" && p.m.givesTurns(r.Share) {
		return -r.Task, ""
	}
	return r.Task, r.User
}

func (p *player) tick(rounds map[string]shares.Units) entry.Tick {
	tick := entry.Tick{Now: p.remembered}
	for _, pool := range p.m.site.Pools {
		tick.Offered = append(tick.Offered, entry.Offer{Pool: pool.Name, Units: rounds[pool.Name] - pool.Book.Held(0)})
	}
	return tick
}

func (p *player) adopt(a *tapeAdopt) {
	if a.Site != nil {
		p.site = *a.Site
	}
	var targets []entry.Target
	for _, t := range a.Targets {
		targets = append(targets, entry.Target{Queue: t.Queue, Share: t.Share, Class: t.Class, Slots: t.Slots, Floor: t.Floor})
	}
	p.m.now = micro(a.AtUS) // the moment of the plans, which is no step of time
	p.m.adopt(books.Source{File: p.site, Targets: targets})
	p.m.site.Next = time.Time{} // the tape says when others come into force
}

func (p *player) pull(want *tapePull) string {
	if want.Verdict == tapeUndone {
		return "" // it is decided again
	}
	q := p.m.site.Queues[want.Queue]
	pull := Pull{Queue: want.Queue, Slot: want.Slot, Most: want.Max, Pilot: want.Pilot, Node: want.Node, Devices: want.Devices, At: micro(want.AtUS), Contests: true}
	if want.Only != nil {
		pull.Only = *want.Only
	}
	if want.Verdict == tapeMaking {
		p.m.making.pause, pull.Until = time.Hour, p.m.now.Add(time.Hour)
		p.m.making.asked = time.Time{}
	} else {
		p.m.making.pause = 0
	}
	p.decisions++
	left := job.RoomOf(want.Slot, q.Queue)
	if p.m.supplies.Moment = pull.At; p.m.supplies.Moment.Before(p.m.now) {
		p.m.supplies.Moment = p.m.now
	}
	for n := 0; n <= len(want.Grants) && n < max(1, want.Max); n++ {
		var d Decision
		r := round{state: p.m.state, pull: &pull, queue: q, left: left, most: max(1, want.Max) - n, decision: &d, nth: []int{0}}
		if n == 0 {
			for range want.Blocked { // it was decided before, without a grant: what resources keep for others may have changed
				r.decide()
			}
		}
		found, verdict := r.decide()
		if n == len(want.Grants) {
			if verdict == Given && p.unread(&pull) {
				break
			}
			if want.Verdict != tapeCut && verdict == Given || (want.Verdict == tapeMaking) != (verdict == Unmade) && n == 0 {
				return diff(want, found, d)
			}
			break
		}
		if verdict != Given || found.job.Low != want.Grants[n].Job {
			if !p.soft(&r, want.Grants[n]) && !p.unread(&pull) {
				return diff(want, found, d)
			}
			found = p.choiceOf(want.Grants[n])
		}
		if err := p.m.grant(r.granted(r.pull, found, n)); err != nil {
			return err.Error()
		}
		left = left.Without(found.buffer.shape.Need)
		p.grants++
	}
	return ""
}

// bufferOf is the buffer of a job.
func (p *player) bufferOf(g tapeGrant) *buffer {
	for key, b := range p.m.buffers {
		if key.Share != g.Share || key.Shape != g.Shape {
			continue
		}
		for r := range b.Ranges() {
			if r.Low <= g.Job && g.Job <= r.High {
				return b
			}
		}
	}
	return nil
}

// choiceOf is the choice of the tape.
func (p *player) choiceOf(g tapeGrant) choice {
	b := p.bufferOf(g)
	for r := range b.Ranges() {
		if r.Low <= g.Job && g.Job <= r.High {
			r.Low = g.Job
			return choice{buffer: b, job: r}
		}
	}
	return choice{buffer: b}
}

// unread says whether a difference is one of a pull of one user or task. The old core read the jobs of these now and then, and did
// not know what became ready since; the oracle has these pulls exactly.
func (p *player) unread(pull *Pull) bool {
	is := pull.Only.User != "" || pull.Only.Task != 0
	if is {
		p.softs++
	}
	return is
}

// soft says whether a difference is one of what resources keep for others for a while. The old core decided some pulls more than
// once, as it had to take units from other daemons first; what it kept for others then is not on the tape. Who decides once or
// twice more gets there too.
func (p *player) soft(r *round, g tapeGrant) bool {
	b := p.bufferOf(g)
	if b == nil || !b.shape.asked.Any() {
		return false
	}
	p.softs++
	for range 3 {
		if found, verdict := r.decide(); verdict == Given && found.job.Low == g.Job {
			return true
		}
		r.decision = &Decision{}
	}
	why, _ := r.supplies.Explain(&b.wants, &r.queue.Queue, false, p.m.supplies.Moment)
	return why != nil && (why.Rule == resource.OverItsPart || why.Rule == resource.Reservation)
}

func diff(want *tapePull, got choice, d Decision) string {
	s := fmt.Sprintf("pull %d at queue %d, slot %+v, only %+v, at most %d\n  tape: %s %+v, lacked %q, passed %v\n  here: ", want.Number, want.Queue,
		want.Slot, want.Only, want.Max, want.Verdict, want.Grants, want.Lacked, want.Passed)
	if got.buffer == nil {
		return s + fmt.Sprintf("none, lacked %+v", d.Lacked)
	}
	return s + fmt.Sprintf("job %d of %v, contests %+v, lacked %+v", got.job.Low, got.buffer.Key(), d.Contests, d.Lacked)
}

// The old core's decisions are made again, all of them.
func TestTapesAreDecidedAgain(t *testing.T) {
	t.Parallel()
	tapes, err := filepath.Glob("testdata/tapes/*.jsonl.gz")
	if err != nil || len(tapes) < 10 {
		t.Fatalf("%d tapes, %v", len(tapes), err)
	}
	for _, path := range tapes {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl.gz"), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			entries, err := readTape(f)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{}
			for i, e := range entries {
				if wrong := p.play(t, e); wrong != "" {
					t.Fatalf("entry %d, after %d decisions and %d grants:\n%s", i+1, p.decisions, p.grants, wrong)
				}
			}
			t.Logf("%d decisions, %d grants, %d by what the tape does not have", p.decisions, p.grants, p.softs)
			most := map[string]int{"TestTapesAreDecidedAgain/only": 11}[t.Name()]
			if p.softs > most {
				t.Errorf("%d decisions differ by what the old core had not read or kept for others, at most %d", p.softs, most)
			}
		})
	}
}
