package lease

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

func requestAsk(request byte) Ask {
	a := pullAsk(0)
	a.Pull.Request = entry.ID{request}
	return a
}

// A batch that was in the log before a repeat came does not prove to it that its leases are still live: another daemon may lead since then.
func TestARepeatNeedsAProofOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	first, b := s.ask(requestAsk(1)), s.append.Batch
	if _, err := s.log.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	rival := entry.Batch{Seq: b.Seq + 1, ID: s.id(), After: b.ID, By: 2, Entries: []entry.Entry{entry.Leader{},
		entry.Ended{Job: 1, Attempt: 1, Outcome: entry.Lost, Next: entry.Again}}}
	if _, err := s.log.Append(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	s.append = nil
	s.now += 10 * time.Second // it stood still
	s.calls++
	again := requestAsk(1)
	again.Call.Number = s.calls
	s.step(again, Appended{ID: b.ID, At: s.log.Clock()})
	s.settle()
	s.answered(first, Done) // the lease was live after it had asked
	s.answered(s.calls, Unavailable)
}

// Leases in doubt whose repeat is answered Unavailable, too, are not those of the request any more when they are over.
func TestARepeatIsNotToldOfLeasesThatAreOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 1, nil)
	doubt := func(wait time.Duration) {
		for end := s.now + wait; s.now < end; s.land(ledger.ErrDoubt) {
			s.now += 100 * time.Millisecond
			s.step()
		}
	}
	first := s.ask(requestAsk(1))
	doubt(4 * time.Second)
	s.answered(first, Unavailable)
	second := s.ask(requestAsk(1))
	s.now += time.Second
	s.step()
	s.land(nil) // the grant; what proves it to the second is in doubt
	doubt(4 * time.Second)
	s.answered(second, Unavailable)
	for range 400 {
		s.now += time.Second
		s.step()
		s.settle()
	}
	if _, live := s.machine.Lease(1); live {
		t.Fatal("the lease goes on though nobody renews it")
	}
	third := s.ask(requestAsk(1))
	s.settle()
	s.answered(third, Over)
}
