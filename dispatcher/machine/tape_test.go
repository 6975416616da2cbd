package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/tape"
	"github.com/divvyhq/divvy/shares"
)

// player makes the decisions of a tape again.
type player struct {
	m          *Machine
	site       shares.Version
	remembered time.Time
	unfilled   map[string]map[string]shares.Units // by pool and pilot: what its last pull offered and was not filled
	decisions  int
	grants     int
}

func micro(us int64) time.Time { return time.UnixMicro(us).UTC() }

// play applies one entry; a difference is what it returns.
func (p *player) play(t *testing.T, e tape.Entry) string {
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
			r := entry.Enqueued{Task: e.Ready.Task, User: e.Ready.User, Share: e.Ready.Share, Shape: e.Ready.Shape, Place: e.Ready.Place,
				Low: span[0], High: span[1], Attempt: 2}
			if e.Ready.Made {
				r.Attempt = 1
			}
			apply(r)
		}
	case e.Withdrawn != nil:
		for _, span := range e.Withdrawn.Jobs {
			apply(entry.Withdrew{Task: e.Withdrawn.Task, Low: span[0], High: span[1]})
		}
	case e.Ended != nil:
		l, ok := p.m.Lease(e.Ended.Job)
		if !ok {
			t.Fatalf("job %d ended and has no lease", e.Ended.Job)
		}
		apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Next(e.Ended.Next[0])})
	case e.Moved != nil:
		for _, span := range e.Moved.Jobs {
			for id := span[0]; id <= span[1]; id++ {
				if l, ok := p.m.Lease(id); ok {
					apply(entry.Recharged{Task: l.Task, Low: id, High: id, Share: e.Moved.To.Share, Shape: e.Moved.To.Shape, Place: l.Place})
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
		apply(p.tick())
		p.m.elders = elders // the tape says who is, by another clock
	case e.Seen != nil:
		apply(entry.Polled{Queue: e.Seen.Queue, Is: e.Seen.Some})
	case e.Elder != nil:
		p.m.elders.upTo = e.Elder.UpTo
	case e.Pull != nil:
		return p.pull(e.Pull)
	}
	return ""
}

func (p *player) tick() entry.Tick {
	tick := entry.Tick{Now: p.remembered}
	for pool, by := range p.unfilled {
		o := entry.Offer{Pool: pool}
		for _, units := range by {
			o.Units += units
		}
		tick.Offered = append(tick.Offered, o)
	}
	return tick
}

func (p *player) adopt(a *tape.Adopt) {
	if a.Site != nil {
		p.site = *a.Site
	}
	var targets []entry.Target
	for _, t := range a.Targets {
		targets = append(targets, entry.Target{Queue: t.Queue, Share: t.Share, Class: t.Class, Slots: t.Slots, Floor: t.Floor})
	}
	p.m.now = micro(a.AtUS) // the moment of the plans, which is no step of time
	p.m.adopt(p.site, targets)
	p.m.site.next = time.Time{} // the tape says when others come into force
}

func (p *player) pull(want *tape.Pull) string {
	if want.Verdict == tape.Undone {
		return "" // it is decided again
	}
	q := p.m.site.queues[want.Queue]
	pull := Pull{Queue: want.Queue, Slot: want.Slot, Most: want.Max, Pilot: want.Pilot, Node: want.Node, Devices: want.Devices, At: micro(want.AtUS), Contests: true}
	if want.Only != nil {
		pull.Only = *want.Only
	}
	if want.Verdict == tape.Making {
		p.m.making.pause, pull.Until = time.Hour, p.m.now.Add(time.Hour)
		p.m.making.asked = time.Time{}
	} else {
		p.m.making.pause = 0
	}
	if want.Verdict == tape.Cut {
		pull.Most = len(want.Grants)
	}
	d := p.m.Decide(pull)
	p.decisions++
	offered := job.RoomOf(want.Slot, q.Queue).Offered(q.Queue, max(1, want.Max))
	var got []int64
	for _, e := range d.Entries {
		g := e.(entry.Granted)
		got = append(got, g.Job)
		offered -= g.Units
	}
	if p.unfilled[q.pool.name] == nil {
		p.unfilled[q.pool.name] = map[string]shares.Units{}
	}
	p.unfilled[q.pool.name][want.Pilot] = max(0, offered)
	p.grants += len(got)
	return differ(want, got, d)
}

func differ(want *tape.Pull, got []int64, d Decision) string {
	if len(got) != len(want.Grants) {
		return diff(want, got, d)
	}
	for i, g := range want.Grants {
		if got[i] != g.Job {
			return diff(want, got, d)
		}
	}
	if (want.Verdict == tape.Making) != (d.Verdict == Unmade) {
		return diff(want, got, d)
	}
	return ""
}

func diff(want *tape.Pull, got []int64, d Decision) string {
	var b strings.Builder
	p := func(parts ...any) {
		b.WriteString(strings.TrimSpace(strings.Trim(fmt.Sprintln(parts...), "\n")) + "\n")
	}
	p("pull", want.Number, "at queue", want.Queue, "slot", want.Slot, "only", want.Only, "max", want.Max)
	p("  tape", want.Verdict, want.Grants, "lacked", want.Lacked, "passed", want.Passed)
	p("  here", d.Verdict, got, d.Entries, d.Contests, d.Lacked)
	return b.String()
}

// The old core's decisions are made again, all of them.
func TestTapesAreDecidedAgain(t *testing.T) {
	t.Parallel()
	tapes, err := filepath.Glob("../tape/testdata/*.jsonl.gz")
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
			entries, err := tape.Read(f)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{unfilled: map[string]map[string]shares.Units{}}
			for i, e := range entries {
				if wrong := p.play(t, e); wrong != "" {
					t.Fatalf("entry %d, after %d decisions and %d grants:\n%s", i+1, p.decisions, p.grants, wrong)
				}
			}
			t.Logf("%d decisions, %d grants", p.decisions, p.grants)
		})
	}
}
