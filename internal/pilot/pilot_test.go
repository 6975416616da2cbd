package pilot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// TestMain also plays the parts that tests need as processes of their own.
func TestMain(m *testing.M) {
	switch part := os.Getenv("PILOT_TEST_PART"); part {
	case "":
		goleak.VerifyTestMain(m)
	case "guard":
		payload.Guard(guardsEar(os.Stdin), os.Args[len(os.Args)-1])
	case "pilot":
		lonePilot()
	case "hiding":
		hidingPilot()
	case "eat":
		eat()
	case "burn":
		burn()
	default:
		fmt.Fprintln(os.Stderr, "unknown part", part)
		os.Exit(2)
	}
}

// guardsEar is what the guard hears. Once it has heard of two jobs and their sessions it says so in a file.
func guardsEar(in io.Reader) io.Reader {
	heard := map[string]bool{}
	ear, mouth := io.Pipe()
	go func() {
		defer mouth.Close()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if heard[strings.TrimLeft(lines.Text(), "+-")] = true; len(heard) == 4 {
				_ = os.WriteFile(filepath.Join(os.Getenv("PILOT_TEST_DIR"), "told"), []byte("both\n"), 0o600)
			}
			_, _ = fmt.Fprintln(mouth, lines.Text())
		}
	}()
	return ear
}

// eat holds 150 MB and waits to be stopped.
func eat() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	b := make([]byte, 150_000_000)
	for i := 0; ; i += 512 {
		switch {
		case i >= len(b):
			<-end
			os.Exit(int(b[0]) + 4)
		case i%(1<<20) == 0 && len(end) > 0: // a busy machine takes longer than the two seconds that are left to it then
			os.Exit(5)
		}
		b[i] = 1
	}
}

// burn uses 300 ms of CPU.
func burn() {
	for begun, x := time.Now(), 0; cpuTime() < 300*time.Millisecond && time.Since(begun) < time.Minute; x++ {
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var quick = timing{
	Poll: time.Second, Call: 5 * time.Second, Pause: 5 * time.Millisecond, MaxPause: 40 * time.Millisecond, Gather: 20 * time.Millisecond,
	Renew: 50 * time.Millisecond, Doubt: 5 * time.Millisecond, Timing: payload.Timing{Grace: 100 * time.Millisecond, MemoryGrace: 5 * time.Second, Sample: 20 * time.Millisecond},
}

// lone is a pilot under test.
type lone struct {
	t     *testing.T
	cfg   Config
	leave context.CancelFunc
	kill  chan struct{}
	done  chan error
}

// start runs a pilot until the test ends; then it must leave by itself, with nothing left behind.
func start(t *testing.T, s *fake, cfg Config) *lone {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	p := &lone{t: t, leave: leave, kill: make(chan struct{}), done: make(chan error, 1)}
	cfg.Client, cfg.Queue, cfg.Name, cfg.Kill = s, "CERN", "p1", p.kill
	cfg.Slots = max(1, cfg.Slots)
	if cfg.timing == (timing{}) {
		cfg.timing = quick
	}
	if cfg.Payload.WorkDir == "" {
		cfg.Payload.WorkDir = t.TempDir()
	}
	if testing.Verbose() {
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	p.cfg = cfg
	go func() { p.done <- Run(ctx, cfg) }()
	t.Cleanup(func() {
		leave()
		if p.done != nil {
			p.left()
		}
	})
	return p
}

// left waits for the pilot to leave.
func (p *lone) left() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		p.done = nil
		return err
	case <-time.After(20 * time.Second):
		p.t.Fatal("the pilot does not leave")
		return nil
	}
}

// eventually waits for a condition over the fake.
func eventually(t *testing.T, s *fake, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		yes, changed := ok(), s.changed
		s.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond): // not everything that counts is a change of the fake
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// until waits for a condition of the machine.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// result waits for the recorded result of a lease.
func result(t *testing.T, s *fake, token string) (r wire.Result) {
	t.Helper()
	eventually(t, s, "a result of "+token, func() bool {
		var ok bool
		r, ok = s.results[token]
		return ok
	})
	return r
}

// file waits for a file to have a whole line and returns the line.
func file(t *testing.T, path ...string) (line string) {
	t.Helper()
	name := filepath.Join(path...)
	until(t, "a line in "+name, func() bool {
		b, _ := os.ReadFile(name)
		var ok bool
		line, _, ok = strings.Cut(string(b), "\n")
		return ok
	})
	return line
}

// pid reads a process id that a payload wrote.
func pid(t *testing.T, path ...string) int {
	t.Helper()
	n, err := strconv.Atoi(file(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gone says that a process is not there any more, or nothing but a zombie that its parent has not collected.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// touch makes a file in the work folder of a job, once that is there.
func touch(t *testing.T, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	until(t, "the file "+name, func() bool { return os.WriteFile(name, nil, 0o600) == nil })
}
