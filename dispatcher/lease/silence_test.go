package lease

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// A warm daemon claims within 2 s of the leader's last word by its own clock, also of one that it has to read, and leads when that is
// committed. It claims nothing for seven eighths of the Silence, which is longer than a leader's answers hold without an append.
func TestTakesOverAfterASilence(t *testing.T) {
	t.Parallel()
	const pace = 10 * time.Millisecond
	full := Timing{}.orDefault()
	if full.Fresh >= full.Silence*7/8 {
		t.Fatalf("a leader is trusted for %v, and the Silence is %v", full.Fresh, full.Silence)
	}
	first, last := time.Hour, time.Duration(0)
	for daemon := int64(2); daemon < 66; daemon++ {
		for _, pushed := range []bool{true, false} { // its last word came from the leader, or was read
			s := newStage(t, 10, 10, nil)
			s.node = New(Config{Daemon: daemon, Draw: s.id})
			s.step()
			s.step(Reloaded{Machine: s.machine.Machine, Leader: 1})
			for range 5 { // words of the leader, at the last moment before others would claim
				for quiet := s.now + full.Silence*7/8 - 2*pace; s.now < quiet; s.step() {
					if s.now += pace; s.append != nil {
						t.Fatalf("daemon %d claims while the leader appends", daemon)
					}
				}
				s.word(1, pushed)
			}
			word := s.now
			for s.append == nil && s.now < word+2*full.Silence {
				s.now += pace
				s.step()
			}
			silence := s.now - word
			if s.append == nil || s.node.Leads() {
				t.Fatalf("daemon %d: after %v it claims %v, leads %v: want a claim that is not committed", daemon, silence, s.append != nil, s.node.Leads())
			}
			if s.land(nil); !s.node.Leads() {
				t.Fatalf("daemon %d does not lead after its claim", daemon)
			}
			call := s.ask(pullAsk(0))
			s.settle()
			s.answered(call, Done)
			if silence < full.Silence*7/8 || silence > 2*time.Second { // which is promised; who reads hears of the word up to Poll later
				t.Errorf("daemon %d, pushed %v: it takes over after %v", daemon, pushed, silence)
			}
			first, last = min(first, silence), max(last, silence)
		}
	}
	if last-first < full.Silence/10 {
		t.Errorf("all claim between %v and %v: two of them at once get in each other's way", first, last)
	}
	t.Logf("64 daemons take over after %v to %v", first, last)
}

// word has a daemon append a Tick, which the Node is told of, or reads when it likes.
func (s *stage) word(by int64, pushed bool) {
	s.t.Helper()
	seq, id, err := s.log.Last(s.t.Context())
	b := entry.Batch{Seq: seq + 1, ID: s.id(), After: id, By: by, Entries: []entry.Entry{entry.Tick{Now: s.log.Clock()}}}
	if err == nil {
		b.At, err = s.log.Append(s.t.Context(), b)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if pushed {
		s.step(Received{by, Message{Batches: []entry.Batch{b}}})
	}
}
