package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
)

// Nothing is kept of a pull whose answer is out, however it came out.
func TestLineIsEmptyAfterAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 3, nil)
	named := func(request byte, wait time.Duration) Ask {
		a := pullAsk(wait)
		a.Pull.Request = entry.ID{request}
		return a
	}
	empty := func(when string) {
		t.Helper()
		l := &s.node.lead.line
		if n := len(l.calls) + len(l.asked) + len(l.waiting) + len(l.classes) + len(l.nodes) + len(l.awake); n > 0 {
			t.Errorf("%s: %d calls, %d requests, %d that wait, %d classes, %d nodes, %d awake", when,
				len(l.calls), len(l.asked), len(l.waiting), len(l.classes), len(l.nodes), len(l.awake))
		}
	}
	for i := range byte(3) { // the third is said twice
		s.ask(named(i/2+1, time.Minute))
	}
	s.settle()
	empty("jobs were given")
	given := s.ask(pullAsk(time.Minute))
	for range 50 {
		s.now += 100 * time.Millisecond
		s.step()
		s.land(ledger.ErrDoubt)
	}
	s.answered(given, Unavailable)
	s.now += time.Second
	s.step()
	s.settle()
	empty("an answer was in doubt")
	taken := s.ask(named(9, time.Minute))
	s.settle()
	s.answered(taken, Done)
	none := s.ask(pullAsk(0))
	gone := s.ask(named(10, time.Minute))
	s.step(Ask{Call: Call{Number: gone}, Left: true})
	s.settle()
	s.answered(none, NoJob)
	empty("there was no job, and a caller left")
}

// Pulls of many nodes are one decision as long as no job asks for a node, and one each when some do.
func TestClassesOfNodes(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, nil)
	for n := range 20 {
		s.ask(nodePull(fmt.Sprint("node", n), time.Hour))
	}
	s.settle()
	decisions := func(entries ...entry.Entry) int {
		before := s.machine.decisions
		s.log.Write(entries...)
		s.step(Written{})
		s.settle()
		return s.machine.decisions - before
	}
	if n := decisions(jobsOf(1, 1, 1)); n != 2 {
		t.Errorf("%d decisions until a job was given and there was none any more", n)
	}
	s.answered(1, Done)
	claim := entry.Claimed{Claim: 1, Task: 2, Key: "gang", Jobs: 2, Template: shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}}
	if n := decisions(claim, entry.Joined{Task: 2, Low: 2, High: 3, Claims: []int64{1}}, jobsOf(2, 2, 3)); n < 19 {
		t.Errorf("%d decisions for 19 nodes when a gang asks for one", n)
	}
	again := s.ask(nodePull("node7", time.Hour))
	s.settle()
	s.answered(again, Done)
	s.answered(8, Done)
	if n := len(s.node.lead.line.waiting); n != 18 {
		t.Errorf("%d pulls wait, want the others", n)
	}
}

// BenchmarkWaiting is a pull and its end while a thousand pulls of as many nodes wait for a job.
func BenchmarkWaiting(b *testing.B) {
	s := newStage(b, 1<<30, 0, nil)
	for n := range 1000 {
		s.ask(nodePull(fmt.Sprint("node", n), time.Hour))
	}
	s.settle()
	b.ResetTimer()
	for n := range int64(b.N) {
		s.log.Write(entry.Enqueued{Task: n + 1, Share: 1, Shape: 1, Low: n + 1, High: n + 1, Attempt: 1, User: "u"})
		clear(s.answers)
		s.step(Written{})
		s.settle()
		for _, a := range s.answers {
			s.ask(Ask{Finish: []End{{Key: keyOf(a.Leases[0]), Outcome: entry.Finished}}})
		}
		s.settle()
		s.ask(nodePull(fmt.Sprint("node", n%1000), time.Hour))
		s.step(Folded{1 << 60})
	}
}
