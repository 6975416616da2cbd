package pilot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// A batch system sends SIGTERM to all processes of a batch job, and a job may be dead before its pilot knows of its own: its result waits,
// and it goes back. One that killed itself otherwise has failed at once.
func TestJobsThatDieBeforeTheirPilotIsTold(t *testing.T) {
	s := newFake()
	doubting := quick
	doubting.Doubt = time.Hour
	p := start(t, s, Config{Slots: 3, timing: doubting})
	tokens := s.add(shell("kill -TERM $$"), shell("exit 143"), shell("kill -KILL $$"))
	if r := result(t, s, tokens[2]); r.Outcome != failed {
		t.Errorf("%+v", r)
	}
	eventually(t, s, "renewals of two ended jobs", func() bool {
		if len(s.renewals) == 0 {
			return false
		}
		last := s.renewals[len(s.renewals)-1].Leases
		return len(last) == 2 && !slices.ContainsFunc(last, func(l wire.Renewal) bool { return l.State != draining })
	})
	if len(s.results) != 1 {
		t.Errorf("results did not wait: %v", s.results)
	}
	p.leave()
	if err := p.left(); err != nil {
		t.Error(err)
	}
	for i, message := range []string{"ended with its pilot; killed by signal SIGTERM", "ended with its pilot; exit code 143"} {
		if r := result(t, s, tokens[i]); r.Outcome != wire.Revoked || r.Message != message {
			t.Errorf("%+v, want %s", r, message)
		}
	}
}

// Jobs of a pilot that stays have failed; of one that was told to leave they go back, but for those that ended by themselves.
func TestJobsThatDieWithTheirPilot(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Slots: 3, Payload: payload.Config{KeepWork: true}})
	if r := result(t, s, s.add(shell("kill -TERM $$"))[0]); r.Outcome != failed {
		t.Errorf("of a pilot that stays: %+v", r)
	}
	wait := "echo > up; until [ -e end ]; do sleep 0.01; done; "
	tokens := s.add(shell(wait+"kill -TERM $$"), shell(wait+"kill -KILL $$"), shell(wait+"exit 1"))
	for _, dir := range []string{"2-1", "3-1", "4-1"} {
		file(t, p.cfg.Payload.WorkDir, dir, "work", "up")
	}
	p.leave()
	eventually(t, s, "the probe of a pilot that drains", func() bool { return s.waiting == 0 })
	for _, dir := range []string{"2-1", "3-1", "4-1"} {
		touch(t, p.cfg.Payload.WorkDir, dir, "work", "end")
	}
	if err := p.left(); err != nil {
		t.Error(err)
	}
	for i, want := range []wire.Outcome{wire.Revoked, wire.Revoked, failed} {
		if r := result(t, s, tokens[i]); r.Outcome != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

// What still runs when the pilot has to end is told to end, and goes back.
func TestPilotGivesJobsBackInTime(t *testing.T) {
	for name, cfg := range map[string]Config{"drain within": {DrainWithin: 30 * time.Millisecond}, "until": {}} {
		s := newFake()
		cfg.Payload.KeepWork = true
		short := cfg.DrainWithin == 0 // its grace is a part of its life: 37 ms, in which a busy machine may not come to the trap
		if short {
			cfg.Until = time.Now().Add(3 * time.Second)
		}
		p := start(t, s, cfg)
		token := s.add(shell("trap 'exit 7' TERM; echo > up; while :; do sleep 0.01; done"))[0]
		file(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
		if cfg.DrainWithin > 0 {
			p.leave()
		}
		if err := p.left(); err != nil {
			t.Error(err)
		}
		r := result(t, s, token)
		how, is := strings.CutPrefix(r.Message, "the pilot had to end; ")
		if r.Outcome != wire.Revoked || !is || how != "exit code 7" && !(short && how == "killed by signal SIGKILL") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A daemon of the version before knows no job that goes back.
func TestJobsGoBackToAnOldDaemon(t *testing.T) {
	s := newFake()
	s.refuse = func(r wire.Result) bool { return r.Outcome == wire.Revoked }
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	token := s.add(shell("echo > up; sleep 1000"))[0]
	file(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	close(p.kill)
	if err := p.left(); err != nil {
		t.Error(err)
	}
	if r := result(t, s, token); r.Outcome != failed {
		t.Errorf("%+v", r)
	}
}
