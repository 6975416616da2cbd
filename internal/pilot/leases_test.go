package pilot

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

func TestCancel(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Slots: 2, Payload: payload.Config{KeepWork: true}})
	tokens := s.add(
		shell("trap 'echo cleaned; exit 0' TERM; echo $$ > up; while :; do sleep 0.01; done"),
		shell("trap '' TERM; echo $$ > up; while :; do sleep 0.01; done"))
	file(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	file(t, p.cfg.Payload.WorkDir, "2-1", "work", "up")
	s.change(func() {
		s.cancels[tokens[0]] = wire.CancelOrder{Lease: tokens[0], Reason: "killed", GraceS: 20}
		s.cancels[tokens[1]] = wire.CancelOrder{Lease: tokens[1], Reason: "reclaim", GraceS: 0.1}
	})
	r := result(t, s, tokens[0])
	if r.Outcome != cancelled || *r.ExitCode != 0 || r.Message != "cancelled: killed; exit code 0" || !strings.Contains(r.LogTail, "cleaned\n") {
		t.Errorf("%+v", r)
	}
	r = result(t, s, tokens[1])
	if r.Outcome != cancelled || *r.ExitCode != 137 || r.Message != "cancelled: reclaim; killed by signal SIGKILL" {
		t.Errorf("%+v", r)
	}
}

func TestLostLeaseIsKilledAndNotReported(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	token := s.add(shell("echo $$ > up; exec sleep 1000"))[0]
	payload := pid(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	s.change(func() { delete(s.live, token) })
	until(t, "the end of the payload", func() bool { return gone(payload) })
	result(t, s, s.add(shell("exit 0"))[0]) // the slot is free again
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.results[token]; ok || len(s.late) > 0 {
		t.Errorf("a lost lease was reported: %v %v", s.results[token], s.late)
	}
}

func TestRenewalsCarryStateAndUsage(t *testing.T) {
	s := newFake()
	start(t, s, Config{Slots: 2})
	tokens := s.add(part("eat"), shell("exec sleep 1000"))
	eventually(t, s, "a renewal with the memory of both", func() bool {
		if len(s.renewals) == 0 {
			return false
		}
		seen := 0
		for _, l := range s.renewals[len(s.renewals)-1].Leases {
			if l.State == running && (l.Lease == tokens[1] && l.Usage.MemoryMB > 0 || l.Lease == tokens[0] && l.Usage.MemoryMB > 140) {
				seen++
			}
		}
		return seen == 2
	})
	s.change(func() { clear(s.live) })
}

func TestServerAway(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Slots: 2, Payload: payload.Config{KeepWork: true}})
	tokens := s.add(shell("until [ -e end ]; do sleep 0.01; done; exit 7"), shell("echo $$ > up; exec sleep 1000"))
	payload := pid(t, p.cfg.Payload.WorkDir, "2-1", "work", "up")
	var before int
	s.change(func() { s.down = true })
	result := func() wire.Result { return result(t, s, tokens[0]) }
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "end")
	eventually(t, s, "pulls in vain", func() bool { // the slot is offered although the result is not recorded
		if before == 0 {
			before = len(s.pulls)
		}
		return len(s.pulls) > before+3
	})
	if gone(payload) {
		t.Fatal("the payload ended with the server")
	}
	s.change(func() { s.down = false })
	if r := result(); r.Outcome != failed || *r.ExitCode != 7 {
		t.Errorf("%+v", r)
	}
	if gone(payload) {
		t.Fatal("the payload ended when the server came back")
	}
	s.change(func() { s.cancels[tokens[1]] = wire.CancelOrder{Lease: tokens[1], Reason: "killed"} })
	eventually(t, s, "the cancel done", func() bool { return s.results[tokens[1]].Outcome == cancelled })
	n := 0
	for _, b := range s.batches {
		for _, r := range b {
			if r.Lease == tokens[0] {
				n++
			}
		}
	}
	if n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

func TestPullIsRepeatedAfterALostReply(t *testing.T) {
	s := newFake()
	s.loseReply = 2
	start(t, s, Config{Slots: 4})
	tokens := s.add(shell("exit 0"), shell("exit 0"))
	for _, token := range tokens {
		result(t, s, token)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.pulls, func(r wire.PullRequest) bool { return len(s.gave[r.RequestID]) > 0 })
	if !reflect.DeepEqual(s.pulls[i], s.pulls[i+1]) {
		t.Errorf("repeated as\n%+v, was\n%+v", s.pulls[i+1], s.pulls[i])
	}
	for token, r := range s.results {
		if r.Outcome != finished {
			t.Errorf("%s: %+v", token, r)
		}
	}
}

func TestResultsAreSentTogether(t *testing.T) {
	s := newFake()
	hold := make(chan struct{})
	s.hold = hold
	p := start(t, s, Config{Slots: 5, Payload: payload.Config{KeepWork: true}})
	s.add(shell(":"))
	eventually(t, s, "a finish on its way", func() bool { return s.held == 1 })
	for range 4 {
		s.add(shell("echo > done"))
	}
	for i := range 4 {
		file(t, p.cfg.Payload.WorkDir, string(rune('2'+i))+"-1", "work", "done")
	}
	eventually(t, s, "everybody ended", func() bool { // seen in the states that a renewal tells
		if len(s.renewals) == 0 {
			return false
		}
		last := s.renewals[len(s.renewals)-1].Leases
		return len(last) == 5 && !slices.ContainsFunc(last, func(l wire.Renewal) bool { return l.State != draining })
	})
	s.change(func() { s.hold = nil })
	close(hold)
	eventually(t, s, "five results", func() bool { return len(s.results) == 5 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.batches) != 2 {
		t.Errorf("%d calls, want 2: one was on its way, the rest goes together", len(s.batches))
	}
}

func TestRefusedResultGoesBare(t *testing.T) {
	s := newFake()
	s.refuse = func(r wire.Result) bool { return strings.Contains(r.LogTail, "poison") || *r.ExitCode == 9 }
	start(t, s, Config{Slots: 3})
	tokens := s.add(shell("echo poison; exit 5"), shell("echo fine"), shell("exit 9"))
	bad, good := result(t, s, tokens[0]), result(t, s, tokens[1])
	if good.LogTail != "fine\n" || *bad.ExitCode != 5 || bad.LogTail != "" || !strings.Contains(bad.Message, "refused") {
		t.Errorf("good %+v, bad %+v", good, bad)
	}
	result(t, s, s.add(shell("exit 0"))[0]) // what can never be taken does not hold up the rest
	s.change(func() { delete(s.live, tokens[2]) })
}

// A slot that comes free is filled at once, although another poll waits.
func TestFreedSlotDoesNotWaitForAPoll(t *testing.T) {
	s := newFake()
	slow := quick
	slow.Poll = time.Minute
	p := start(t, s, Config{Slots: 3, Payload: payload.Config{KeepWork: true}, timing: slow})
	first := s.add(shell("until [ -e end ]; do sleep 0.01; done"))[0]
	eventually(t, s, "a poll for the rest", func() bool { return s.waiting == 1 && len(s.live) == 1 })
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "end")
	result(t, s, first)
	eventually(t, s, "a second poll", func() bool { return s.waiting == 2 })
	s.mu.Lock()
	a, b := s.pulls[len(s.pulls)-2], s.pulls[len(s.pulls)-1]
	s.mu.Unlock()
	if a.Slot.Cores != 2 || a.Max != 2 || b.Slot.Cores != 1 || b.Max != 1 || b.WaitS >= a.WaitS {
		t.Errorf("polls %+v and %+v", a, b)
	}
	p.leave()
	if err := p.left(); err != nil {
		t.Error(err)
	}
}

// Polls end together, so that what stayed free is offered as one again and a wide job finds its place.
func TestPollsAreJoinedAgain(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Slots: 4, Payload: payload.Config{KeepWork: true}})
	tokens := s.add(shell("until [ -e end ]; do sleep 0.01; done"), shell("until [ -e end ]; do sleep 0.01; done"))
	eventually(t, s, "both run", func() bool { return len(s.live) == 2 })
	for i, token := range tokens {
		file := []string{"1-1", "2-1"}[i]
		touch(t, p.cfg.Payload.WorkDir, file, "work", "end")
		result(t, s, token)
		eventually(t, s, "a poll more", func() bool { return s.waiting == 2+i })
	}
	wide := shell("exit 0")
	wide.Cores = 4
	if r := result(t, s, s.add(wide)[0]); r.Outcome != finished {
		t.Errorf("%+v", r)
	}
}
