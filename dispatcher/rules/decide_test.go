package rules

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

func TestDecide(t *testing.T) {
	reclaim, kill := &machine.Order{Reason: Reclaimed}, &machine.Order{Reason: "killed by ann"}
	for name, c := range map[string]struct {
		order    *machine.Order
		unwanted bool
		number   int32
		unknown  bool
		returned int32 // of the attempts before; 0: they are not known, -1: none
		said     entry.Outcome
		want     entry.Outcome
		next     entry.Next
	}{
		"finished":                       {said: entry.Finished, want: entry.Finished, next: entry.Over},
		"finished, and nothing is known": {unknown: true, said: entry.Finished, want: entry.Finished, next: entry.Over},
		"failed":                         {said: entry.Failed, want: entry.Failed, next: entry.Again},
		"failed, and nothing is known":   {unknown: true, said: entry.Failed, want: entry.Failed, next: entry.Waits},
		"lost":                           {said: entry.Lost, want: entry.Lost, next: entry.Again},
		"the last attempt":               {number: 3, said: entry.Failed, want: entry.Failed, next: entry.Waits},
		"beyond it":                      {number: 4, said: entry.Lost, want: entry.Lost, next: entry.Waits},
		"the last attempt, and none was returned": {number: 3, returned: -1, said: entry.Failed, want: entry.Failed, next: entry.Over},
		"the last attempt, given up":              {number: 3, returned: -1, said: entry.Cancelled, want: entry.Cancelled, next: entry.Waits},
		"one before was returned":                 {number: 3, returned: 1, said: entry.Failed, want: entry.Failed, next: entry.Again},
		"the last attempt but for one returned":   {number: 4, returned: 1, said: entry.Lost, want: entry.Lost, next: entry.Over},
		"killed":                                  {order: kill, said: entry.Cancelled, want: entry.Cancelled, next: entry.Undone},
		"killed, and it finished":                 {order: kill, said: entry.Finished, want: entry.Finished, next: entry.Over},
		"killed, and lost":                        {order: kill, said: entry.Lost, want: entry.Lost, next: entry.Undone},
		"reclaimed":                               {order: reclaim, said: entry.Cancelled, want: entry.Returned, next: entry.Again},
		"reclaimed, and it failed":                {order: reclaim, number: 3, said: entry.Failed, want: entry.Returned, next: entry.Again},
		"reclaimed, and it finished":              {order: reclaim, said: entry.Finished, want: entry.Finished, next: entry.Over},
		"reclaimed, and lost":                     {order: reclaim, said: entry.Lost, want: entry.Lost, next: entry.Again},
		"returned":                                {number: 3, said: entry.Returned, want: entry.Returned, next: entry.Again},
		"not wanted, and it finished":             {unwanted: true, said: entry.Finished, want: entry.Finished, next: entry.Over},
		"not wanted, and it failed":               {unwanted: true, said: entry.Failed, want: entry.Failed, next: entry.Undone},
		"not wanted, and returned":                {unwanted: true, said: entry.Returned, want: entry.Returned, next: entry.Undone},
		"not wanted, reclaimed, and it finished":  {unwanted: true, order: reclaim, said: entry.Finished, want: entry.Finished, next: entry.Over},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{})
			if !c.unknown {
				r.site.Store(&retry.Site{})
				r.known.add(block{1, 10, 3, false})
			}
			l := machine.Lease{Granted: entry.Granted{Job: 5, Attempt: max(1, c.number)}, Order: c.order}
			if r.Granted(&l.Granted); c.returned != 0 {
				r.known.learned(5, returned{l.Attempt, max(0, c.returned)})
			}
			got := r.Decide(l, entry.Ended{Job: 5, Attempt: l.Attempt, Outcome: c.said, MemoryMB: 7}, c.unwanted)
			if got.Outcome != c.want || got.Next != c.next || got.MemoryMB != 7 {
				t.Errorf("%c and %c, want %c and %c", got.Outcome, got.Next, c.want, c.next)
			}
		})
	}
}

// Where Decide does not have the job wait, it says what follows from all that there is to know.
func TestDecideIsCertain(t *testing.T) {
	outcomes := []entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}
	certain := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := &policy.Policy{QuarantineAfter: rapid.IntRange(0, 3).Draw(rt, "quarantine")}
		for range rapid.IntRange(0, 2).Draw(rt, "rules") {
			m := policy.Match{Outcome: rapid.SampledFrom([]string{"", policy.Failed, policy.Lost}).Draw(rt, "outcome"),
				Source: rapid.SampledFrom([]string{"", policy.Payload, "pilotErrorCode"}).Draw(rt, "source")}
			if rapid.Bool().Draw(rt, "codes") {
				m.Codes = []policy.Range{{Low: 1, High: int64(rapid.IntRange(1, 3).Draw(rt, "high"))}}
			}
			p.Rules = append(p.Rules, policy.Rule{Name: "r", Match: m, Action: rapid.SampledFrom([]policy.Action{policy.NoRetry, policy.Wait}).Draw(rt, "action"), Backoff: time.Minute})
		}
		e := retry.Tried{Number: int32(rapid.IntRange(1, 4).Draw(rt, "number")), Need: job.Requirements{Cores: 1}}
		returns, most := int32(0), int32(rapid.IntRange(1, 4).Draw(rt, "most"))
		for range e.Number - 1 {
			if o := rapid.SampledFrom(outcomes[1:]).Draw(rt, "earlier"); o == entry.Returned {
				returns++
			} else {
				e.Attempts = append(e.Attempts, retry.Attempt{Failure: policy.Failure{Outcome: outcomeWords[o]}})
			}
		}
		e.Most = most + returns
		said := rapid.SampledFrom(outcomes).Draw(rt, "said")
		last := retry.Attempt{Failure: policy.Failure{Outcome: outcomeWords[said]}}
		code := rapid.IntRange(0, 4).Draw(rt, "code")
		if code > 0 {
			last.ExitCode = &code
		}
		if rapid.Bool().Draw(rt, "report") {
			last.Report = map[string]any{"pilotErrorCode": float64(2)}
		}
		e.Attempts = append(e.Attempts, last)
		if rapid.Bool().Draw(rt, "terms") {
			e.Terms = &policy.Terms{MaxFailures: 2}
		}
		l := machine.Lease{Granted: entry.Granted{Job: 1, Attempt: e.Number}}
		told := rapid.Bool().Draw(rt, "told")
		if told {
			l.Order = &machine.Order{Reason: Reclaimed}
		}
		r := New(Config{})
		site := retry.Site{Policy: p, Queues: []shares.Queue{slots("q", 1)}, Now: time.Now()}
		r.site.Store(&site)
		r.known.add(block{1, 1, most, e.Terms != nil})
		if rapid.Bool().Draw(rt, "read") {
			r.Granted(&l.Granted)
			r.known.learned(1, returned{e.Number, returns})
		}
		got := r.Decide(l, entry.Ended{Job: 1, Attempt: e.Number, Outcome: said, ExitCode: int32(code)}, false)
		if got.Next == entry.Waits {
			return
		}
		outcome, next, note := said, entry.Over, ""
		switch {
		case said == entry.Finished:
		case said == entry.Returned, told && said != entry.Lost:
			outcome, next = entry.Returned, entry.Again
		default:
			v := retry.Judge(e, site)
			if note = v.Note; v.Split || v.Backoff > 0 {
				next = entry.Waits
			} else if !v.Over {
				next = entry.Again
			}
		}
		if certain++; got.Next != next || got.Outcome != outcome || note != "" {
			rt.Fatalf("%c and %c, want %c and %c, noted %q", got.Outcome, got.Next, outcome, next, note)
		}
	})
	if certain == 0 {
		t.Error("it was never certain")
	}
}

// The last attempt of a job is told to have failed at once: what its attempts were before is read when it is granted. Those that were returned
// do not count, and what is not folded yet is read again.
func TestLastAttemptIsJudgedAtOnce(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.enqueue("A", 1, 2, job.Requirements{})
	w.fold()
	for _, c := range []struct {
		said entry.Outcome
		next entry.Next
	}{{entry.Failed, entry.Again}, {entry.Returned, entry.Again}, {entry.Failed, entry.Over}} {
		l := w.must("q")
		w.rules.Granted(&l.Granted)
		w.learn() // before the attempt before is folded
		w.fold()
		w.learn()
		if e := w.end(l, c.said, ""); e.Next != c.next {
			t.Errorf("attempt %d: %c, want %c", l.Attempt, e.Next, c.next)
		}
	}
	if n := len(w.rules.known.past) + len(w.rules.known.asked); n > 0 {
		t.Errorf("%d jobs are remembered that are over", n)
	}
}

// Blocks are found by any of their jobs, and asked for where they are not known.
func TestBlocks(t *testing.T) {
	var s known
	if n := s.add(block{10, 19, 3, false}) + s.add(block{30, 39, 4, true}) + s.add(block{10, 19, 3, false}); n != 2 {
		t.Errorf("%d blocks are new, want 2", n)
	}
	for id, want := range map[int64]int32{9: 0, 10: 3, 19: 3, 20: 0, 29: 0, 30: 4, 39: 4, 40: 0} {
		if b, ok := s.block(id); b.most != want || ok != (want > 0) {
			t.Errorf("block of job %d: %+v", id, b)
		}
	}
	if n := len(s.open(3)) + len(s.open(3)); n != 4 {
		t.Errorf("%d jobs are asked for, want 4", n)
	}
}

// A transaction that fails leaves nothing behind: the same verdicts are given again.
func TestJudgeAfterACrash(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.enqueue("A", 3, 10, job.Requirements{})
	for range 3 {
		w.end(w.must("q"), entry.Failed, "")
	}
	w.fold()
	w.exec("ALTER TABLE outbox ADD CONSTRAINT away CHECK (false)")
	if _, err := w.rules.Judge(t.Context()); err == nil {
		t.Fatal("it wrote into an outbox that takes nothing")
	}
	w.exec("ALTER TABLE outbox DROP CONSTRAINT away")
	if said := w.judge(); len(said) != 1 || said[0].(entry.Enqueued).Jobs() != 3 {
		t.Errorf("said %v", said)
	}
}
