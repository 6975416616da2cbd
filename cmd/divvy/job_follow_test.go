package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// seen is what a process wrote so far.
type seen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes what the process writes.
func (s *seen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A job is followed from its beginning to its end at another daemon than its pilot's, across the death of the one that led,
// which is started again; its whole logs are where the pilot was told to keep them.
func TestJobIsFollowed(t *testing.T) {
	t.Parallel()
	dsn, dir := pgtest.DSN(t), t.TempDir()
	daemon := startProcess(t, "serve", "--database", dsn, "--listen", "127.0.0.1:0", "--site", "servetest/site.yml")
	url := daemon.says(t, `msg=serving url=(\S+)`)
	other := startProcess(t, "serve", "--database", dsn, "--listen", "127.0.0.1:0").says(t, `msg=serving url=(\S+)`)
	logs := filepath.Join(dir, "logs")
	startProcess(t, "pilot", "--queue", "LOCAL", "--slots", "1", "--server", url, "--work-dir", filepath.Join(dir, "work"), "--logs", logs)
	script := `i=0; while [ $i -lt 1000 ]; do echo "line $i"; i=$((i+1)); done; echo oops >&2; while [ ! -e ` + dir + `/on ]; do sleep 0.1; done; ` +
		`echo on; while [ ! -e ` + dir + `/go ]; do sleep 0.1; done; echo end; exit 3`
	task := filepath.Join(dir, "task.yml")
	text := "name: follow\nuser: alice\nlabel: ptest\ncount: 1\nmax_attempts: 1\nrequirements: {walltime: 5m}\ncommand: [sh, -c, '" + script + "']\n"
	if err := os.WriteFile(task, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := divvy(t, "task", "submit", "-f", task, "--server", url); o.code != fail.OK {
		t.Fatalf("submit: %+v", o)
	}
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		o := divvy(t, "job", "show", "1", "--server", url)
		return o.code == fail.OK, o.err
	})
	var out, errs seen
	follower := exec.Command(os.Args[0], "job", "logs", "-f", "1", "--server", other)
	follower.Env, follower.Stdout, follower.Stderr = append(os.Environ(), runAsDivvy+"=1"), &out, &errs
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follower.Process.Kill() })
	says := func(what string) {
		t.Helper()
		servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
			return strings.HasSuffix(out.String(), what), "the follower has not seen " + what + ": " + errs.String()
		})
	}
	touch := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says("line 999\n")
	_ = daemon.end(t, syscall.SIGKILL)
	daemon = startProcess(t, "serve", "--database", dsn, "--listen", strings.TrimPrefix(url, "http://"))
	daemon.says(t, `msg=serving url=(\S+)`)
	touch("on")
	says("on\n")
	touch("go")
	if err := follower.Wait(); err != nil {
		t.Errorf("the follower: %v, %s", err, errs.String())
	}
	whole, err := os.ReadFile(filepath.Join(logs, "1-1", "stdout.log"))
	if got := out.String(); err != nil || got != string(whole) || !strings.HasSuffix(got, "line 999\non\nend\n") || strings.Count(got, "\n") != 1002 {
		t.Errorf("followed %d bytes, written were %d, %v", len(got), len(whole), err)
	}
	if errs.String() != "oops\n" {
		t.Errorf("stderr %q", errs.String())
	}
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		o := divvy(t, "job", "show", "1", "--server", url)
		return strings.Contains(o.out, filepath.Join(logs, "1-1")), o.out + o.err
	})
}
