package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/ledgertest"
)

// parted is a Node, daemon 3, which reaches the log and no other daemon.
type parted struct {
	t      *testing.T
	node   *Node
	log    ledgertest.Memory
	now    time.Duration
	ids    byte
	wishes []time.Duration // when it appended one
	leads  []time.Duration // when it appended that it leads
}

func newParted(t *testing.T) *parted {
	p := &parted{t: t, now: time.Minute}
	p.log.Clock = func() time.Time { return time.Unix(0, 0).Add(p.now) }
	p.node = New(Config{Daemon: 3, Draw: p.id})
	return p
}

func (p *parted) id() entry.ID {
	p.ids++
	return entry.ID{3, p.ids}
}

// write has another daemon append.
func (p *parted) write(by int64, entries ...entry.Entry) entry.Batch {
	seq, after, err := p.log.Last(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	b := entry.Batch{Seq: seq + 1, After: after, By: by, ID: entry.ID{byte(by), byte(seq)}, Entries: entries}
	if _, err := p.log.Append(p.t.Context(), b); err != nil {
		p.t.Fatal(err)
	}
	return b
}

// begin has the Node follow a log in which daemon 1 leads.
func (p *parted) begin() {
	m := machine.New(machine.Config{})
	if err := m.Advance(p.write(1, entry.Adopted{Number: 1, Site: site(1)}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})); err != nil {
		p.t.Fatal(err)
	}
	p.step()
	p.step(Reloaded{Machine: m, Leader: 1})
}

// step makes a step, and those that come of the log's answers.
func (p *parted) step(events ...Event) {
	for _, e := range p.node.Step(p.now, events...) {
		switch e := e.(type) {
		case Read:
			batches, err := p.log.Read(p.t.Context(), e.After, 500)
			p.step(Fetched{e.After, batches, err})
		case Append:
			at, err := p.log.Append(p.t.Context(), e.Batch)
			if Wishes(e.Batch) {
				p.wishes = append(p.wishes, p.now)
			} else {
				p.leads = append(p.leads, p.now)
			}
			p.step(Appended{e.Batch.ID, at, err})
		}
	}
}

// pass lets time pass in which a daemon leads, until the Node wishes, or for a while.
func (p *parted) pass(leader int64, most time.Duration) {
	n := len(p.wishes)
	for until := p.now + most; p.now < until && len(p.wishes) == n; {
		if p.now += 50 * time.Millisecond; p.now%time.Second == 0 {
			p.write(leader)
		}
		p.step()
	}
}

// Whoever has wished under one leader and did not get its turn wishes under the next one as soon as others do: else two of three could lead in turn for ever.
func TestWishUnderEachLeader(t *testing.T) {
	t.Parallel()
	p := newParted(t)
	p.begin()
	a := pullAsk(time.Minute)
	a.Call.Number = 1
	p.step(a)
	p.write(2, entry.Wished{By: 2})
	p.pass(1, 10*time.Second)
	p.write(1, entry.Heard{All: true})
	p.step()
	p.write(2, entry.Leader{Address: "b"})
	p.pass(2, 10*time.Second)
	if len(p.wishes) != 2 || len(p.leads) > 0 {
		t.Fatalf("wishes at %v, claims at %v; want two wishes, and daemon 2 to lead between them", p.wishes, p.leads)
	}
	if again := p.wishes[1] - p.wishes[0]; again > 3500*time.Millisecond {
		t.Errorf("the second wish came %v after the first", again)
	}
	p.write(2, entry.Heard{All: true})
	p.now += time.Second
	p.step()
	if !p.node.Leads() {
		t.Error("it wished first, and does not lead after the farewell")
	}
}

// While the log owes an answer a Node makes no steps of its own but for what comes with time: a slow database would cost each daemon a core.
func TestNodeRestsWhileItReads(t *testing.T) {
	t.Parallel()
	p := newParted(t)
	rests := func(what string, effects []Effect) {
		t.Helper()
		for i := 0; ; i++ {
			last, ok := effects[len(effects)-1].(Wake)
			if !ok || last.At < p.now+50*time.Millisecond {
				t.Fatalf("%s: after %d steps it asks at %v for one at %+v", what, i, p.now, last)
			}
			if i == 10 {
				return
			}
			p.now = last.At
			effects = p.node.Step(p.now)
		}
	}
	rests("it reloads", p.node.Step(p.now))
	effects := p.node.Step(p.now, Reloaded{Machine: machine.New(machine.Config{}), Leader: 1})
	if !slices.ContainsFunc(effects, func(e Effect) bool { _, is := e.(Read); return is }) {
		t.Fatalf("it reads nothing: %+v", effects)
	}
	rests("it reads", effects)
}

// The seq of what is decided behind a flight may be that of a wish by now. The tables that have the wish do not have the ends that are to come:
// one that is said again is answered as it was.
func TestFoldedWish(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, 2, nil)
	a := pullAsk(0)
	a.Pull.Most, a.Pull.Slot.Cores = 2, 2
	call := s.ask(a)
	s.settle()
	leases := s.answered(call, Done).Leases
	if len(leases) != 2 {
		t.Fatalf("%d leases, want 2", len(leases))
	}
	finish := func(i int) Ask { return Ask{Finish: []End{{Key: keyOf(leases[i]), Outcome: entry.Finished}}} }
	s.ask(finish(0))
	s.ask(finish(1)) // with the next batch
	flight := s.append.Batch
	if _, err := s.log.Append(t.Context(), flight); err != nil {
		t.Fatal(err)
	}
	wish := entry.Batch{Seq: flight.Seq + 1, After: flight.ID, ID: entry.ID{9}, By: 2, Entries: []entry.Entry{entry.Wished{By: 2}}}
	if _, err := s.log.Append(t.Context(), wish); err != nil {
		t.Fatal(err)
	}
	s.step(Folded{wish.Seq})
	s.land(nil) // it is there, and the wish behind it
	again := s.ask(finish(1))
	s.settle()
	if v := s.answered(again, Done).Verdicts; len(v) != 1 || !v[0].Is {
		t.Errorf("the end, said again, is answered %+v", v)
	}
}
