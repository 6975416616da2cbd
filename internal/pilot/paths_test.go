package pilot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// in is a shell in a folder of a user, with files for its output.
func in(dir, stdout, stderr, script string) wire.Lease {
	l := shell(script)
	l.Dir, l.Stdout, l.Stderr = dir, stdout, stderr
	return l
}

// A job runs where its task says and writes there; what it wrote is told as ever.
func TestPathsOfJobs(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := os.WriteFile(name("script"), []byte("#!/bin/sh\necho in $(pwd) $PWD\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"b.out", "c.log"} {
		if err := os.WriteFile(name(old), []byte("of the attempt before, and longer than what comes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := wire.Lease{Command: []string{"./script"}, Dir: dir}
	cases := []struct {
		name  string
		lease wire.Lease
		log   string
		files map[string]string
	}{
		{"folder", own, "in " + dir + " " + dir + "\n", nil},
		{"two files", in(dir, name("b.out"), name("b.err"), "echo out; echo err >&2"), "--- stdout\nout\n--- stderr\nerr\n", map[string]string{"b.out": "out\n", "b.err": "err\n"}},
		{"one file", in("", name("c.log"), name("c.log"), "echo 1; echo 2 >&2; echo 3"), "1\n2\n3\n", map[string]string{"c.log": "1\n2\n3\n"}},
		{"errors alone", in(dir, "", name("d.err"), "echo out; echo err >&2"), "--- stdout\nout\n--- stderr\nerr\n", map[string]string{"d.err": "err\n"}},
		{"no output", in("", "/dev/null", "", "echo out; echo err >&2"), "err\n", nil},
	}
	s := newFake()
	start(t, s, Config{})
	for _, c := range cases {
		r := result(t, s, s.add(c.lease)[0])
		if r.Outcome != finished || r.LogTail != c.log {
			t.Errorf("%s: %s, %q, log %q; want %q", c.name, r.Outcome, r.Message, r.LogTail, c.log)
		}
		for file, want := range c.files {
			if got, err := os.ReadFile(name(file)); string(got) != want {
				t.Errorf("%s: %s has %q (%v), want %q", c.name, file, got, err, want)
			}
		}
	}
}

// A folder or file that cannot be used is told by its name, and nothing is run. Files of the kernel are the pilot's.
func TestPathsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newFake()
	start(t, s, Config{})
	for _, c := range []struct {
		lease   wire.Lease
		code    int
		message string
	}{
		{in("/no/such/folder", "", "", ":"), 126, "cannot start: dir /no/such/folder: no such file or directory on this machine"},
		{in(file, "", "", ":"), 126, "cannot start: dir " + file + ": not a directory on this machine"},
		{in("", "/no/such/folder/out", "", ":"), 126, "cannot start: stdout /no/such/folder/out: no such file or directory"},
		{in("", "", dir, ":"), 126, "cannot start: stderr " + dir + ": is a directory"},
		{in("", fifo, "", ":"), 126, "cannot start: stdout " + fifo + ": not a regular file"},
		{in("", "/proc/self/mem", "", ":"), 126, "cannot start: stdout /proc/self/mem: not a regular file"},
		{wire.Lease{Dir: dir, Command: []string{"./nothing"}}, 127, "cannot start: stat " + dir + "/nothing: no such file or directory"},
	} {
		r := result(t, s, s.add(c.lease)[0])
		if r.Outcome != failed || r.ExitCode == nil || *r.ExitCode != c.code || r.Message != c.message {
			t.Errorf("%s, %s; want %d, %s", r.Outcome, r.Message, c.code, c.message)
		}
	}
}

// Folders and files are those of the payload's user: a task does not reach what only the pilot may.
func TestPathsOfPayloadUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: --payload-user takes root")
	}
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	for _, d := range []struct {
		path string
		perm os.FileMode
	}{{filepath.Dir(dir), 0o755}, {dir, 0o777}, {name("secret"), 0o700}, {name("work"), 0o700}} {
		_ = os.Mkdir(d.path, 0o700)
		if err := os.Chmod(d.path, d.perm); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"token", "secret/script"} {
		if err := os.WriteFile(name(f), []byte("#!/bin/sh\necho s3cret"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := newFake()
	start(t, s, Config{Payload: payload.Config{User: "nobody", WorkDir: name("work")}})
	for _, c := range []struct {
		lease wire.Lease
		say   string
	}{
		{in(name("secret"), "", "", ":"), "dir " + name("secret") + ": permission denied"},
		{in("", name("token"), "", ":"), "stdout " + name("token") + ": permission denied"},
		{in("", "", name("secret/new"), ":"), "stderr " + name("secret/new") + ": permission denied"},
		{wire.Lease{Dir: dir, Command: []string{"secret/script"}}, "secret/script: permission denied"},
	} {
		r := result(t, s, s.add(c.lease)[0])
		if r.Outcome != failed || !strings.Contains(r.Message, c.say) || strings.Contains(r.LogTail, "s3cret") {
			t.Errorf("%s, %s, %q; want %s", r.Outcome, r.Message, r.LogTail, c.say)
		}
	}
	if text, err := os.ReadFile(name("token")); err != nil || !strings.Contains(string(text), "s3cret") {
		t.Errorf("the token was changed: %q %v", text, err)
	}
	r := result(t, s, s.add(in(dir, name("mine"), "", "id -u; id -G; touch made"))[0])
	st, err := os.Stat(name("mine"))
	if err != nil {
		t.Fatal(err)
	}
	nobody := nobody(t)
	if got := st.Sys().(*syscall.Stat_t).Uid; got != nobody.Uid || r.Outcome != finished || !strings.HasPrefix(r.LogTail, fmt.Sprint(nobody.Uid)) {
		t.Errorf("the file is of user %d, the job %s: %s%s", got, r.Outcome, r.Message, r.LogTail)
	}
}
