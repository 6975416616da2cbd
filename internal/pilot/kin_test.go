package pilot

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// hiding is a job that leaves a process behind in a session of its own, without anything in its environment, in another folder.
const hiding = "env -i /usr/bin/setsid /bin/sh -c 'cd /; echo $$ > '$PWD/hidden'; while :; do /bin/sleep 1; done' < /dev/null > /dev/null 2>&1 & " +
	"until [ -s hidden ]; do /bin/sleep 0.01; done; cat hidden > $KEPT/$1.new; mv $KEPT/$1.new $KEPT/$1"

// hidingPilot runs such jobs, alone in its process, with the token's variables around it.
func hidingPilot() {
	s := newFake()
	dir := os.Getenv("PILOT_TEST_DIR")
	if err := payload.Conceal(); err != nil {
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
	cfg := Config{Client: s, Queue: "CERN", Slots: 2, timing: quick,
		Payload: payload.Config{WorkDir: filepath.Join(dir, "work"), Guard: guard, Alone: true, User: os.Getenv("PILOT_TEST_USER")}}
	if os.Getenv("PILOT_TEST_LONG") != "" {
		job("long", "exec /bin/sleep 1000")
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
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(t)}
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

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil || uid == 0 {
		t.Fatalf("ids of nobody: %s, %s", u.Uid, u.Gid)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}
}
