package lease

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/ledgertest"
)

// stage drives one Node by hand. Its log answers when the test says so.
type stage struct {
	t       testing.TB
	node    *Node
	log     ledgertest.Memory
	now     time.Duration
	machine *counting
	append  *Append  // in flight
	held    bool     // what is gathered is not told
	slow    bool     // no Read is answered
	out     []Effect // of the last step, but for what the stage does itself
	calls   uint64
	ids     uint64
	answers map[uint64]Answer
}

// counting counts decisions.
type counting struct {
	*machine.Machine
	decisions int
}

func (c *counting) Decide(p machine.Pull) machine.Decision {
	c.decisions++
	return c.Machine.Decide(p)
}

// newStage makes a Node that leads over a queue of some slots, and jobs that are ready.
func newStage(t testing.TB, slots int, jobs int64, change func(*Config)) *stage {
	s := &stage{t: t, machine: &counting{Machine: machine.New(machine.Config{})}, answers: map[uint64]Answer{}}
	s.log.Clock = func() time.Time { return time.Unix(0, 0).Add(s.now) }
	first := entry.Batch{Seq: 1, ID: s.id(), Entries: []entry.Entry{entry.Adopted{Number: 1, Site: site(slots)}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}}}
	if jobs > 0 {
		first.Entries = append(first.Entries, entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: jobs, Attempt: 1, User: "u"})
	}
	if _, err := s.log.Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := s.machine.Advance(first); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Daemon: 1, Draw: s.id}
	if change != nil {
		change(&cfg)
	}
	s.node = New(cfg)
	s.step()
	s.step(Reloaded{Machine: s.machine})
	for !s.node.Leads() {
		s.now += 100 * time.Millisecond
		s.step()
		s.land(nil)
	}
	s.land(nil)
	return s
}

func (s *stage) id() (id entry.ID) {
	s.ids++
	binary.BigEndian.PutUint64(id[:], s.ids)
	return id
}

func (s *stage) step(events ...Event) {
	s.out = nil
	for _, e := range s.node.Step(s.now, events...) {
		switch e := e.(type) {
		case Append:
			if s.append != nil {
				s.t.Fatalf("two appends in flight: %d and %d", s.append.Batch.Seq, e.Batch.Seq)
			}
			s.append = &e
		case Gather:
			if !s.held {
				s.step(Gathered{Number: e.Number, Rows: s.log.Pending(500)})
			}
		case Read:
			if s.slow {
				continue
			}
			batches, err := s.log.Read(s.t.Context(), e.After, 500)
			s.step(Fetched{e.After, batches, err})
		case Reply:
			s.answers[e.Answer.Call.Number] = e.Answer
		case Wake:
		default:
			s.out = append(s.out, e)
		}
	}
}

// ask asks and returns the number of the call.
func (s *stage) ask(a Ask) uint64 {
	s.calls++
	a.Call.Number = s.calls
	s.step(a)
	return s.calls
}

// land lets the append in flight come to the log, or answers with an error.
func (s *stage) land(fail error) {
	b := s.append
	if b == nil {
		return
	}
	s.append = nil
	a := Appended{ID: b.Batch.ID, Err: fail}
	if fail == nil {
		a.At, a.Err = s.log.AppendWith(context.Background(), b.Batch, b.Beside)
	}
	s.step(a)
}

func (s *stage) settle() {
	for s.append != nil {
		s.land(nil)
	}
}

func pullAsk(wait time.Duration) Ask {
	return Ask{Pull: &machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", Nonce: 3}, Wait: wait}
}

func (s *stage) answered(call uint64, want Status) Answer {
	s.t.Helper()
	a, ok := s.answers[call]
	if !ok || a.Status != want {
		s.t.Errorf("call %d: answered %v, %+v; want status %d", call, ok, a, want)
	}
	return a
}

func TestAnswersAfterTheCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	given, none := s.ask(pullAsk(0)), s.ask(pullAsk(0))
	if len(s.answers) > 0 {
		t.Fatalf("answered before the commit: %+v", s.answers)
	}
	s.settle()
	if a := s.answered(given, Done); len(a.Leases) != 1 || a.Seq == 0 {
		t.Errorf("%+v", a)
	}
	s.answered(none, NoJob)
}

// A batch has at most so many grants, and pulls are served in the order in which they came.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t, 5000, 2000, nil)
	var calls []Event
	for range 1200 {
		s.calls++
		a := pullAsk(0)
		a.Call.Number = s.calls
		calls = append(calls, a)
	}
	s.step(calls...)
	var sizes []int
	var jobs []int64
	for s.append != nil {
		n := 0
		for _, e := range s.append.Batch.Entries {
			if g, ok := e.(entry.Granted); ok {
				n, jobs = n+1, append(jobs, g.Job)
			}
		}
		sizes = append(sizes, n)
		s.land(nil)
	}
	if !slices.Equal(sizes, []int{512, 512, 176}) || !slices.IsSorted(jobs) || len(s.answers) != 1200 {
		t.Errorf("batches of %v, %d answers", sizes, len(s.answers))
	}
}

// Pulls of a class that get nothing are decided once, until something is eased.
func TestClassesAreDecidedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, nil)
	before := s.machine.decisions
	var calls []uint64
	for range 100 {
		calls = append(calls, s.ask(pullAsk(time.Minute)))
	}
	for range 20 {
		s.step()
	}
	if n := s.machine.decisions - before; n != 1 {
		t.Errorf("%d decisions for a hundred pulls of one class", n)
	}
	s.log.Write(entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 3, Attempt: 1, User: "u"})
	s.step(Written{})
	s.settle()
	if n := s.machine.decisions - before; n != 5 {
		t.Errorf("%d decisions until three were given and one found none", n)
	}
	for _, call := range calls[:3] {
		s.answered(call, Done)
	}
	if _, ok := s.answers[calls[3]]; ok {
		t.Error("the fourth waits")
	}
	s.now += 2 * time.Minute
	s.step()
	s.settle()
	s.answered(calls[3], NoJob)
}

// While the log is away nobody is told that there is no job.
func TestAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	given, none := s.ask(pullAsk(0)), s.ask(pullAsk(0))
	for range 100 {
		s.now += 100 * time.Millisecond
		s.step()
		s.land(ledger.ErrDoubt)
	}
	s.answered(given, Unavailable)
	s.answered(none, Unavailable)
	s.now += time.Second
	s.step()
	s.settle()
	again := s.ask(pullAsk(0))
	s.settle()
	if a := s.answered(again, Done); len(a.Leases) != 1 || a.Leases[0].Attempt != 2 {
		t.Errorf("%+v: want the job whose lease nobody heard of, returned", a)
	}
}

// A batch in doubt is appended until the log says what became of it.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		s := newStage(t, 10, 1, nil)
		call, b := s.ask(pullAsk(0)), s.append.Batch
		if applied {
			if _, err := s.log.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		s.land(ledger.ErrDoubt)
		if len(s.answers) > 0 {
			t.Fatalf("answered in doubt: %+v", s.answers)
		}
		s.now += 100 * time.Millisecond
		s.step()
		if s.append == nil || s.append.Batch.ID != b.ID {
			t.Fatalf("applied %v: the next append is %v, want the same batch", applied, s.append)
		}
		s.settle()
		s.answered(call, Done)
		if !s.node.Leads() {
			t.Errorf("applied %v: deposed", applied)
		}
	}
}

// A leader whose seq is taken by another one drops everything.
func TestDeposed(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 2, nil)
	call := s.ask(pullAsk(0))
	waits := s.ask(pullAsk(time.Minute))
	b := s.append.Batch
	b.ID, b.By, b.Entries = s.id(), 2, []entry.Entry{entry.Leader{}}
	if _, err := s.log.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	s.land(nil)
	s.answered(call, Unavailable)
	s.answered(waits, Unavailable)
	if m, _ := s.node.Machine(); m != nil || s.node.Leads() || !slices.ContainsFunc(s.out, func(e Effect) bool { _, ok := e.(Reload); return ok }) {
		t.Errorf("it keeps what is not in the log: %v", s.out)
	}
}

// A daemon that is the only one leads at its start without a Silence; where it is wrong it finds the seq taken and listens.
func TestAloneClaimsAtOnce(t *testing.T) {
	t.Parallel()
	alone := func(is bool) func(*Config) {
		return func(c *Config) { c.Alone = func() bool { return is } }
	}
	if s := newStage(t, 10, 1, alone(false)); s.now < time.Second {
		t.Errorf("it leads after %v, and others may lead", s.now)
	}
	if s := newStage(t, 10, 1, alone(true)); s.now > 100*time.Millisecond || s.machine.Now().IsZero() {
		t.Errorf("it leads after %v, and is alone; what it grants now has the time %v", s.now, s.machine.Now())
	}
	s := newStage(t, 10, 1, alone(true))
	s.node = New(Config{Daemon: 2, Draw: s.id, Alone: func() bool { return true }})
	s.step()
	s.step(Reloaded{Machine: s.machine.Machine})
	claim := s.append
	if claim == nil {
		t.Fatal("it does not claim")
	}
	rival := entry.Batch{Seq: claim.Batch.Seq, ID: s.id(), After: claim.Batch.After, By: 1, Entries: []entry.Entry{entry.Tick{Now: s.log.Clock()}}}
	if _, err := s.log.Append(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	s.land(nil)
	s.now += time.Second
	if s.step(); s.append != nil || s.node.Leads() {
		t.Error("it claims again at once though another daemon appends")
	}
}

// A log that was away is no silence of the leader, which can write no sooner than others can read.
func TestASlowReadIsNoSilence(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} { // by the leader, while the read is under way
		s := newStage(t, 10, 1, nil)
		s.node = New(Config{Daemon: 2, Draw: s.id})
		s.step()
		s.step(Reloaded{Machine: s.machine.Machine, Leader: 1})
		s.slow = true
		pass := func(d time.Duration) {
			for end := s.now + d; s.now < end && s.append == nil; s.step() {
				s.now += 100 * time.Millisecond
			}
		}
		pass(4 * time.Second)
		after, id := s.machine.Stand()
		if told {
			s.step(Received{1, Message{Batches: []entry.Batch{{Seq: after + 1, ID: s.id(), After: id, By: 1, Entries: []entry.Entry{entry.Tick{Now: s.log.Clock()}}}}}})
		}
		s.slow = false
		s.step(Fetched{After: after})
		if s.append != nil {
			t.Errorf("told %v: it claims at the end of a read of seconds, without a look at what comes then", told)
		}
		if pass(3 * time.Second); s.append == nil {
			t.Errorf("told %v: it does not claim, and nobody leads", told)
		}
	}
}

// Who leads is known from any batch, however long ago the lead was taken.
func TestEachBatchSaysWhoLeads(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	s.node = New(Config{Daemon: 7, Draw: s.id})
	s.step()
	s.step(Reloaded{Machine: s.machine.Machine})
	seq, id := s.machine.Stand()
	s.step(Received{5, Message{Batches: []entry.Batch{{Seq: seq + 1, ID: s.id(), After: id, By: 5, Entries: []entry.Entry{entry.Tick{Now: s.log.Clock()}}}}}})
	if by := s.node.Leader(); by != 5 {
		t.Errorf("daemon %d leads, want the one that wrote the last batch", by)
	}
	s.out = nil
	s.step(Ask{Call: Call{Number: 1 << 40}, Renew: []Renewal{{}}})
	if len(s.out) != 0 {
		t.Errorf("before there is a way to it: %+v", s.out)
	}
	s.step(Peers{[]int64{5}})
	if len(s.out) != 1 || s.out[0].(Send).To != 5 {
		t.Errorf("an ask is sent to %+v", s.out)
	}
}

// A text that no table can hold is not taken from another daemon either: the append would fail for ever.
func TestTextsOfOthersAreChecked(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	call := s.ask(pullAsk(time.Second))
	s.settle()
	end := End{Key: keyOf(s.answered(call, Done).Leases[0]), Outcome: entry.Finished, Text: &ledger.Text{Report: []byte{}}}
	s.step(Received{5, Message{Asks: []Ask{{Call: Call{Number: 1}, Finish: []End{end}}}}})
	if len(s.out) != 1 || s.out[0].(Send).Message.Answers[0].Status != Unavailable {
		t.Errorf("no JSON is answered by %+v", s.out)
	}
	end.Text.Report = nil
	s.step(Received{5, Message{Asks: []Ask{{Call: Call{Number: 2}, Finish: []End{end}}}}})
	s.settle()
	if _, live := s.machine.Lease(end.Key.Job); live {
		t.Error("it did not end")
	}
}

// Pulls do not wait any more whose daemon is not there to be answered: a job that it gets would wait for its lease to run out.
func TestPullsOfADaemonThatIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, 1, nil)
	s.step(Peers{[]int64{5, 6}})
	for _, from := range []int64{5, 6} {
		ask := pullAsk(time.Minute)
		ask.Call = Call{Number: 1}
		s.step(Received{from, Message{Asks: []Ask{ask}}})
	}
	s.settle()
	if n := len(s.node.lead.line.calls); n != 2 {
		t.Fatalf("%d pulls wait, want 2", n)
	}
	s.step(Peers{[]int64{6}})
	if n := len(s.node.lead.line.calls); n != 1 || s.node.lead.line.calls[Call{6, 1}] == nil {
		t.Errorf("%d pulls wait, want that of daemon 6", n)
	}
}

// A pilot that leaves asks once more without a wait, whether its pull was given a job: it is not kept until the wait of that is over.
func TestRepeatSaysHowLongItWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, 1, nil)
	ask := pullAsk(time.Hour)
	ask.Pull.Request = entry.ID{1}
	first := s.ask(ask)
	s.settle()
	ask = pullAsk(0)
	ask.Pull.Request = entry.ID{1}
	again := s.ask(ask)
	s.settle()
	for _, call := range []uint64{first, again} {
		s.answered(call, NoJob)
	}
}

// Others are told of a batch at once, of those that come fast after it together, with answers at once, and of what is left when the daemon leads
// no more.
func TestOthersAreTold(t *testing.T) {
	s := newStage(t, 9, 9, nil)
	s.step(Peers{Daemons: []int64{2, 3}})
	told := func(to int64) (seqs []int64) {
		for _, e := range s.out {
			if m, ok := e.(Send); ok && m.To == to {
				for _, b := range m.Message.Batches {
					seqs = append(seqs, b.Seq)
				}
			}
		}
		return seqs
	}
	grant := func() int64 {
		s.ask(pullAsk(0))
		seq := s.append.Batch.Seq
		s.land(nil)
		return seq
	}
	for range 2 { // what was so before is told first
		s.now += 100 * time.Millisecond
		s.step()
	}
	first := grant()
	if got := told(2); !slices.Equal(got, []int64{first}) {
		t.Fatalf("at once: told of %v, want %d", got, first)
	}
	for range 3 {
		s.now += 10 * time.Millisecond
		if grant(); told(2) != nil || told(3) != nil {
			t.Fatalf("30 ms after it was told, a daemon was told of %v", told(2))
		}
	}
	s.now += 20 * time.Millisecond
	s.step()
	want := []int64{first + 1, first + 2, first + 3}
	if got := told(3); !slices.Equal(got, want) || !slices.Equal(told(2), want) {
		t.Fatalf("together: told of %v and %v, want %v", told(2), got, want)
	}
	a := pullAsk(0)
	a.Call.Number = 1
	s.step(Received{2, Message{Asks: []Ask{a}}})
	if s.land(nil); !slices.Equal(told(2), []int64{first + 4}) || len(told(3)) != 1 {
		t.Fatalf("with its answer, a daemon was told of %v, want %d", told(2), first+4)
	}
	grant()
	s.step(Drain{})
	if got := told(2); s.node.Leads() || !slices.Equal(got, []int64{first + 5}) {
		t.Fatalf("leads %v; at the end told of %v, want %d", s.node.Leads(), got, first+5)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	w := &window{}
	for _, c := range []struct {
		number uint64
		want   bool
	}{{1, true}, {1, false}, {3, true}, {2, true}, {2, false}, {5000, true}, {4999, true}, {905, true}, {904, false}, {905, false}, {1_000_000, true}, {5000, false}, {999_999, true}, {999_999, false}} {
		if got := w.first(c.number); got != c.want {
			t.Errorf("%d: %v, want %v", c.number, got, c.want)
		}
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	r := newRecent(2)
	for i := range int64(3) {
		r.ended(machine.Lease{Granted: entry.Granted{Job: i, Request: entry.ID{byte(i + 1)}}}, entry.Ended{Outcome: entry.Finished}, i+1)
	}
	if _, ok := r.requests.all[entry.ID{1}]; ok || len(r.requests.all) != 2 {
		t.Errorf("%v: want the newest two", r.requests.all)
	}
	if r.folded(2); len(r.ends) != 1 {
		t.Errorf("%v: want the one that is not folded", r.ends)
	}
}

// BenchmarkLife is a pull and its end, in batches of 100, but for the log.
func BenchmarkLife(b *testing.B) {
	s := newStage(b, 1<<30, int64(b.N)+100, nil)
	s.log = ledgertest.Memory{}
	at := time.Unix(0, 0)
	land := func() {
		for s.append != nil {
			id := s.append.Batch.ID
			s.append = nil
			s.step(Appended{ID: id, At: at})
		}
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += 100 {
		events := make([]Event, 100)
		for i := range events {
			s.calls++
			a := pullAsk(0)
			a.Call.Number = s.calls
			events[i] = a
		}
		s.step(events...)
		land()
		i := 0
		for _, a := range s.answers {
			s.calls++
			events[i] = Ask{Call: Call{Number: s.calls}, Finish: []End{{Key: keyOf(a.Leases[0]), Outcome: entry.Finished}}}
			i++
		}
		clear(s.answers)
		s.step(events...)
		land()
		clear(s.answers)
		s.step(Folded{1 << 60})
	}
}

// BenchmarkRenew is one renewal of 100,000 leases, in requests of 100.
func BenchmarkRenew(b *testing.B) {
	const leases = 100_000
	s := newStage(b, 1<<30, leases, func(c *Config) { c.Bounds.Grants = leases })
	a := pullAsk(0)
	a.Pull.Most, a.Pull.Slot.Cores = leases, leases
	call := s.ask(a)
	s.settle()
	var renewals []Renewal
	for _, l := range s.answers[call].Leases {
		renewals = append(renewals, Renewal{Key: keyOf(l)})
	}
	if len(renewals) != leases {
		b.Fatalf("%d leases", len(renewals))
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += 100 {
		at := n % leases
		s.calls++
		s.step(Ask{Call: Call{Number: s.calls}, Renew: renewals[at : at+100]})
		clear(s.answers)
	}
}

// A daemon that stands still and then cannot append, each for less than Stopped, has heard nobody for longer than that: leases get Grace.
func TestStallsAddUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, 1, func(c *Config) {
		c.Timing.TTL, c.Timing.First, c.Timing.Grace = 4*time.Second, 4*time.Second, 2*time.Second
	})
	s.ask(pullAsk(0))
	s.settle()
	s.now += 2500 * time.Millisecond
	s.step()
	for range 5 { // the log does not answer
		s.now += 500 * time.Millisecond
		s.step()
	}
	s.settle()
	for i, after := range []time.Duration{700 * time.Millisecond, 700 * time.Millisecond, 1600 * time.Millisecond} { // Grace, and a Tick until it is seen that all is well
		s.now += after
		s.step()
		s.settle()
		if _, ok := s.machine.Lease(1); ok == (i == 2) {
			t.Errorf("step %d: the job has a lease: %v", i, ok)
		}
	}
}
