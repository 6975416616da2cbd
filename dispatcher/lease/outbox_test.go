package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// jobsOf makes a row of jobs.
func jobsOf(task, low, high int64) entry.Entry {
	return entry.Enqueued{Task: task, Share: 1, Shape: 1, Low: low, High: high, Attempt: 1, User: "u"}
}

// A row is in the log once, though it is read while its append is in flight, and after it.
func TestRowsAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, nil)
	row := s.log.Write(jobsOf(1, 1, 2))
	s.held = true
	s.step(Written{})
	stale := s.log.Pending(10)
	number := s.node.lead.outbox.asked
	s.step(Gathered{Number: number, Rows: stale})
	if s.append == nil || !slices.Equal(s.append.Beside.Rows, []int64{row}) || len(s.append.Batch.Entries) != 1 {
		t.Fatalf("%+v: want the row", s.append)
	}
	for range 3 {
		s.step(Written{}, Gathered{Number: number, Rows: stale}) // once more
		s.step(Gathered{Number: s.node.lead.outbox.asked, Rows: stale})
	}
	s.step(Written{})
	number = s.node.lead.outbox.asked
	s.settle()
	s.step(Gathered{Number: number, Rows: stale}) // read before the commit, told after it
	s.settle()
	if f := s.log.RowFate(row); f.Seq == 0 || len(s.log.Pending(10)) > 0 || !s.node.Leads() {
		t.Errorf("%+v, leads: %v", f, s.node.Leads())
	}
}

// A row whose first entry cannot be applied is marked and costs nothing else; one of which a part was applied costs the machine.
func TestRowsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	for name, row := range map[string][]entry.Entry{
		"first":  {entry.Started{Job: 77, Attempt: 1}, jobsOf(1, 1, 2)},
		"second": {jobsOf(1, 1, 2), entry.Started{Job: 77, Attempt: 1}},
		"text":   {entry.Leader{Address: "\x00"}},
	} {
		s := newStage(t, 10, 0, func(c *Config) { c.Check = ledger.Check })
		bad, good := s.log.Write(row...), s.log.Write(jobsOf(2, 11, 12))
		s.step(Written{})
		if name == "second" {
			taken := s.ask(pullAsk(0)) // of what the log has not got
			s.answered(taken, Unavailable)
			s.settle()
			if s.node.Leads() || !slices.ContainsFunc(s.out, func(e Effect) bool { _, ok := e.(Reload); return ok }) {
				t.Errorf("%s: it goes on with a part of a row", name)
			}
			if f := s.log.RowFate(bad); f.Refused == "" {
				t.Errorf("%s: %+v", name, f)
			}
			if f := s.log.RowFate(good); f.Seq != 0 {
				t.Errorf("%s: it took one more: %+v", name, f)
			}
			continue
		}
		s.settle()
		if f := s.log.RowFate(bad); f.Refused == "" {
			t.Errorf("%s: %+v", name, f)
		}
		if f := s.log.RowFate(good); f.Seq == 0 || f.Refused != "" {
			t.Errorf("%s: the other row is kept back: %+v", name, f)
		}
	}
}

// Rows are taken in their order, each whole, a bounded number of entries in a batch.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, func(c *Config) { c.Bounds.Entries = 5 })
	var rows []int64
	for i := range int64(4) {
		rows = append(rows, s.log.Write(jobsOf(1, 10*i+1, 10*i+2), jobsOf(1, 10*i+3, 10*i+4)))
	}
	s.step(Written{})
	var got [][]int64
	for s.append != nil {
		got = append(got, s.append.Beside.Rows)
		s.land(nil)
	}
	if !slices.EqualFunc(got, [][]int64{rows[:2], rows[2:]}, slices.Equal) {
		t.Errorf("batches with rows %v", got)
	}
}

// Somebody else took a row: nothing of the batch is written, and the daemon begins anew.
func TestRowGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, nil)
	row := s.log.Write(jobsOf(1, 1, 2))
	s.step(Written{})
	taken := entry.Batch{Seq: s.append.Batch.Seq, ID: s.id(), After: s.append.Batch.After}
	if _, err := s.log.AppendWith(t.Context(), taken, ledger.Beside{Rows: []int64{row}}); err != nil {
		t.Fatal(err)
	}
	s.append.Batch.Seq, s.append.Batch.After = taken.Seq+1, taken.ID // so that nothing but the row stands in its way
	s.land(nil)
	if s.node.Leads() {
		t.Error("it goes on with a row that is not its own")
	}
}

// Texts stand beside the batch of their ends, some bytes at a time; what waits does not run out.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 4, func(c *Config) { c.Bounds.Texts = 25; c.Timing.Patience = time.Minute })
	var ends []Event
	for range 4 {
		call := s.ask(pullAsk(0))
		s.settle()
		l := s.answers[call].Leases[0]
		s.calls++
		ends = append(ends, Ask{Call: Call{Number: s.calls}, Finish: []End{{Key: keyOf(l), Outcome: entry.Finished, Text: &ledger.Text{Log: "ten bytes."}}}})
	}
	s.step(ends...)
	var sizes []int
	for s.append != nil {
		sizes = append(sizes, len(s.append.Beside.Texts))
		s.land(nil)
	}
	if !slices.Equal(sizes, []int{2, 2}) {
		t.Errorf("batches with %v texts", sizes)
	}
	for i, text := range s.log.Texts() {
		if text.Job != int64(i+1) || text.Attempt != 1 {
			t.Errorf("%+v", text)
		}
	}
	for call := s.calls; call > s.calls-4; call-- {
		s.answered(call, Done)
	}
}

// A lease that asked for a TTL of its own has it after a change of leader, too, though it has not started, and the others have not.
func TestOwnTTL(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 3, nil)
	var keys []Key
	for range 3 {
		call := s.ask(pullAsk(0))
		s.settle()
		keys = append(keys, keyOf(s.answers[call].Leases[0]))
	}
	s.ask(Ask{Renew: []Renewal{{Key: keys[0], Started: true}, {Key: keys[1], Started: true, TTL: time.Hour}, {Key: keys[2], TTL: time.Hour}}})
	s.settle()
	r := s.node.replica
	lead(&s.node.desk, r, &s.node.cfg, s.now) // as if it had followed
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{time.Minute, 3}, {4 * time.Minute, 2}, {59 * time.Minute, 2}, {62 * time.Minute, 0}} {
		over := r.leases.over(s.now+c.after, 0, 10)
		if r.leases.due.Len() != c.left {
			t.Errorf("after %v: %d leases, want %d (%v)", c.after, r.leases.due.Len(), c.left, over)
		}
	}
}

// A daemon that starts from the tables knows the TTLs that were asked for.
func TestOwnTTLOfTables(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 2, nil)
	for range 2 {
		s.ask(pullAsk(0))
		s.settle()
	}
	n := New(Config{Daemon: 2, Draw: s.id})
	n.Step(s.now)
	n.Step(s.now, Reloaded{Machine: s.machine.Machine, TTLs: map[int64]int32{2: 3600}})
	lead(&n.desk, n.replica, &n.cfg, s.now)
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{4 * time.Minute, 1}, {62 * time.Minute, 0}} {
		n.replica.leases.over(s.now+c.after, 0, 10)
		if got := n.replica.leases.due.Len(); got != c.left {
			t.Errorf("after %v: %d leases, want %d", c.after, got, c.left)
		}
	}
}
