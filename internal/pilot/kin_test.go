package pilot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hiding is a job that leaves a process behind in a session of its own, without anything in its environment, in another folder.
const hiding = "env -i /usr/bin/setsid /bin/sh -c 'cd /; echo $$ > '$PWD/hidden'; while :; do /bin/sleep 1; done' < /dev/null > /dev/null 2>&1 & " +
	"until [ -s hidden ]; do /bin/sleep 0.01; done; cat hidden > $KEPT/$1.new; mv $KEPT/$1.new $KEPT/$1"

// hidingPilot runs such jobs, alone in its process, with the token's variables around it.
func hidingPilot() {
	s := newFake()
	dir := os.Getenv("PILOT_TEST_DIR")
	if err := Conceal(); err != nil {
		panic(err)
	}
	job := func(name, then string) {
		l := shell(`until [ -z "$AFTER" ] || [ -e "$KEPT/$AFTER" ]; do /bin/sleep 0.01; done; ` + hiding + "; " + then)
		l.Command = append(l.Command, "sh", name)
		l.Env = map[string]string{"KEPT": dir}
		if name == "first" && os.Getenv("PILOT_TEST_LONG") != "" {
			l.Env["AFTER"] = "long" // what hides while the other runs is kept until that has ended
		}
		s.add(l)
	}
	job("first", "cat /proc/$PPID/environ > $KEPT/stolen; ls /proc/$PPID/fd > $KEPT/fds; kill -0 $PPID && echo yes > $KEPT/killable")
	os.Unsetenv("PILOT_TEST_PART")
	guard := []string{"env", "PILOT_TEST_PART=guard", os.Args[0]}
	cfg := Config{Client: s, Queue: "CERN", Slots: 2, WorkDir: filepath.Join(dir, "work"), Guard: guard, Alone: true, timing: quick, PayloadUser: os.Getenv("PILOT_TEST_USER")}
	if os.Getenv("PILOT_TEST_LONG") != "" {
		job("long", "exec /bin/sleep 1000")
		sessionTold = func(n int) {
			if n == 2 {
				_ = os.WriteFile(filepath.Join(dir, "told"), []byte("both\n"), 0o600)
			}
		}
	} else {
		cfg.MaxJobs = 1
	}
	if err := Run(context.Background(), cfg); err != nil {
		panic(err)
	}
}

func startHiding(t *testing.T, change func(*exec.Cmd)) (dir string, cmd *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { // the payload may be another user's
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "pilot.test") // where others may run it
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "PILOT_TEST_PART=hiding", "PILOT_TEST_DIR="+dir, "DIVVY_TOKEN=s3cret")
	cmd.Stderr = os.Stderr
	change(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return dir, cmd
}

// What a job leaves behind in another session, with another environment and in another folder ends with the job; and
// with the pilot, when that is killed.
func TestNothingOutlivesItsJob(t *testing.T) {
	dir, cmd := startHiding(t, func(*exec.Cmd) {})
	hidden := pid(t, dir, "first")
	until(t, "the end of what the job left", func() bool { return gone(hidden) })
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	dir, cmd = startHiding(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PILOT_TEST_LONG=1") })
	first, long := pid(t, dir, "first"), pid(t, dir, "long")
	if gone(long) {
		t.Error("what a job runs in a session of its own was killed while the job ran")
	}
	file(t, dir, "told") // the guard hears of sessions within some seconds
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	until(t, "the end of what its jobs left", func() bool { return gone(first) && gone(long) })
}

// A payload of the pilot's own user sees neither its environment, where the token is, nor its descriptors; one of another user cannot
// end it either.
func TestPayloadDoesNotSeeTheToken(t *testing.T) {
	dir, cmd := startHiding(t, func(cmd *exec.Cmd) {
		if os.Geteuid() == 0 { // who sees everything
			nobody, err := lookUpPayloadUser("nobody")
			if err != nil {
				t.Fatal(err)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody.credential()}
		}
	})
	seesNothing(t, dir, cmd)
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: --payload-user takes root")
	}
	dir, cmd = startHiding(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PILOT_TEST_USER=nobody") })
	seesNothing(t, dir, cmd)
	if _, err := os.Stat(filepath.Join(dir, "killable")); err == nil {
		t.Error("the payload may kill the pilot")
	}
}

func seesNothing(t *testing.T, dir string, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"stolen", "fds"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) > 0 {
			t.Errorf("%s: %.200q %v", name, text, err)
		}
	}
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
