package payload

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// Members of a group that SIGKILL does not end hold nobody up.
func TestReapGroupThatIsHeld(t *testing.T) {
	held := child(t)
	ends(t, "waiting for the group", func() { reapGroup(held.Process.Pid) })
	if gone(held.Process.Pid) {
		t.Error("it was killed: the test shows nothing")
	}
}

// A stray that SIGKILL does not end is tried once in a sweep, others go.
func TestSweepLeavesWhatIsHeld(t *testing.T) {
	held, other := child(t).Process.Pid, child(t).Process.Pid
	k, tried := makeKin(nil, ""), 0
	k.sigkill = func(pid int) error {
		if pid == held {
			tried++
			return syscall.EPERM
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	ends(t, "the sweep", func() { k.sweep(func(s stray) bool { return s.pid == held || s.pid == other }) })
	if tried != 1 || gone(held) || !gone(other) {
		t.Errorf("tried %d times, gone: %t and %t", tried, gone(held), gone(other))
	}
}

// While a sweep waits for what it has killed, jobs start.
func TestJobsStartWhileASweepWaits(t *testing.T) {
	held, killed := child(t).Process.Pid, make(chan struct{})
	k := makeKin(nil, "")
	k.patience = time.Hour
	k.sigkill = func(int) error { close(killed); return nil }
	swept := make(chan struct{})
	go func() { defer close(swept); k.sweep(func(s stray) bool { return s.pid == held }) }()
	<-killed
	ends(t, "the start of a job", func() {
		_ = k.start(nil, func() (int, error) { return 0, syscall.Kill(held, syscall.SIGKILL) })
	})
	ends(t, "the sweep", func() { <-swept })
}

// child is one of the test's, which ends with it.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// ends fails the test when f is still at it long after it should have ended.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}

// gone says that a process is not there any more, or nothing but a zombie that its parent has not collected.
func gone(pid int) bool {
	p, ok := look(pid)
	return !ok || p.zombie
}

// Conceal is what keeps others of the same user out: the kernel says so itself.
func TestConceal(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := Conceal(); err != nil {
		t.Fatal(err)
	}
	now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || now != 0 {
		t.Errorf("it is still dumpable: %d %v", now, err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before), 0, 0, 0); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
