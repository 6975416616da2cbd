package pilot

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

func TestDrain(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Slots: 2, Payload: payload.Config{KeepWork: true}})
	token := s.add(shell("echo > up; until [ -e end ]; do sleep 0.01; done; exit 0"))[0]
	file(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	eventually(t, s, "a poll", func() bool { return s.waiting == 1 })
	p.leave()
	eventually(t, s, "the poll gone", func() bool { return s.waiting == 0 })
	var renewed int
	eventually(t, s, "its probe", func() bool {
		renewed = len(s.renewals)
		return s.pulls[len(s.pulls)-1].WaitS == 0
	})
	s.add(shell("exit 0"))
	eventually(t, s, "renewals while draining", func() bool { return len(s.renewals) > renewed+2 })
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "end")
	if err := p.left(); err != nil {
		t.Error(err)
	}
	if r := result(t, s, token); r.Outcome != finished {
		t.Errorf("%+v", r)
	}
	if len(s.ready) != 1 {
		t.Error("a draining pilot took another job")
	}
}

// The leases of a pull that was cut short are learned of and run.
func TestDrainLearnsOfGrantedLeases(t *testing.T) {
	s := newFake()
	s.holdPull = make(chan struct{})
	p := start(t, s, Config{})
	token := s.add(shell("exit 0"))[0]
	eventually(t, s, "a grant", func() bool { return len(s.live) == 1 })
	p.leave()
	if err := p.left(); err != nil {
		t.Error(err)
	}
	if r := result(t, s, token); r.Outcome != finished {
		t.Errorf("%+v", r)
	}
}

func TestDrainWhileServerIsAway(t *testing.T) {
	s := newFake()
	s.down = true
	p := start(t, s, Config{})
	eventually(t, s, "a try", func() bool { return len(s.pulls) > 2 })
	p.leave()
	if err := p.left(); err != nil {
		t.Error(err)
	}
}

func TestKillReportsHonestly(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	token := s.add(shell("trap '' TERM; echo $$ > up; while :; do sleep 0.01; done"))[0]
	payload := pid(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	p.leave()
	close(p.kill)
	if err := p.left(); err != nil {
		t.Error(err)
	}
	r := result(t, s, token)
	if r.Outcome != wire.Revoked || *r.ExitCode != 137 || r.Message != "the pilot had to end; killed by signal SIGKILL" {
		t.Errorf("%+v", r)
	}
	if !gone(payload) {
		t.Error("the payload lives on")
	}
}

func TestBounds(t *testing.T) {
	t.Run("jobs", func(t *testing.T) {
		s := newFake()
		p := start(t, s, Config{Slots: 4, MaxJobs: 5})
		for range 10 {
			s.add(shell("exit 0"))
		}
		if err := p.left(); err != nil || len(s.results) != 5 {
			t.Errorf("%v, %d jobs, want 5", err, len(s.results))
		}
	})
	t.Run("idle", func(t *testing.T) {
		s := newFake()
		p := start(t, s, Config{Slots: 2, MaxIdle: 50 * time.Millisecond})
		s.add(shell("sleep 0.2"), shell("exit 0"))
		if err := p.left(); err != nil || len(s.results) != 2 {
			t.Errorf("%v, %d jobs, want 2", err, len(s.results))
		}
	})
	t.Run("walltime", func(t *testing.T) {
		s := newFake()
		p := start(t, s, Config{Until: time.Now().Add(2 * time.Second)})
		if err := p.left(); err != nil || s.pulls[0].Slot.WalltimeS > 2 {
			t.Errorf("%v, offered %d s", err, s.pulls[0].Slot.WalltimeS)
		}
	})
}

func TestFirstPullRefused(t *testing.T) {
	s := newFake()
	s.pullError = func() error { return &trouble{status: 404, code: "unknown_queue"} }
	err := start(t, s, Config{}).left()
	var p problem
	if !errors.As(err, &p) || p.ErrorCode() != "unknown_queue" {
		t.Errorf("%v", err)
	}
}

func TestClosedQueueIsNotHammered(t *testing.T) {
	s := newFake()
	s.pullError = func() error { return &trouble{status: 409, code: "queue_closed", after: 30 * time.Millisecond} }
	p := start(t, s, Config{MaxIdle: 200 * time.Millisecond})
	if err := p.left(); err != nil || len(s.pulls) > 9 {
		t.Errorf("%v, %d pulls", err, len(s.pulls))
	}
}

func TestConfig(t *testing.T) {
	err := Run(context.Background(), Config{MemoryMB: -1, Name: "a/b"})
	for _, want := range []string{"client: missing", "queue: missing", "slots: 0", "memory: -1 MB", "name:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	s := newFake()
	p := start(t, s, Config{})
	eventually(t, s, "a poll", func() bool { return s.waiting == 1 })
	err = Run(context.Background(), Config{Client: s, Queue: "CERN", Slots: 1, Payload: p.cfg.Payload})
	if err == nil || !strings.Contains(err.Error(), "another pilot works there") {
		t.Errorf("two pilots in one folder: %v", err)
	}
}

// lonePilot runs one job that never ends, in a process of its own that gets killed.
func lonePilot() {
	s := newFake()
	l := shell("sleep 1000 & echo $! > child; echo $$ > up; wait")
	l.Image, l.Containers = os.Getenv("PILOT_TEST_IMAGE"), "podman"
	s.add(l)
	os.Unsetenv("PILOT_TEST_PART")
	guard := []string{"env", "PILOT_TEST_PART=guard", os.Args[0]}
	err := Run(context.Background(), Config{Client: s, Queue: "CERN", Slots: 1, Payload: payload.Config{WorkDir: os.Getenv("PILOT_TEST_DIR"), Guard: guard}, timing: quick})
	panic(err)
}

func TestKilledPilotTakesItsJobsAlong(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PILOT_TEST_PART=pilot", "PILOT_TEST_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, child := pid(t, dir, "1-1", "work", "up"), pid(t, dir, "1-1", "work", "child")
	if gone(first) || gone(child) {
		t.Fatal("the payload is not there")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	until(t, "the end of the group", func() bool { return gone(first) && gone(child) })
}
