package pilot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

func TestOutcomesAreTold(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("echo hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("neither ELF nor a script"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		lease   wire.Lease
		outcome wire.Outcome
		code    int
		message string
		log     string
	}{
		{"good", shell("echo fine"), finished, 0, "", "fine\n"},
		{"code", shell("echo bad >&2; exit 3"), failed, 3, "exit code 3", "bad\n"},
		{"both", shell("echo out; echo err >&2"), finished, 0, "", "--- stdout\nout\n--- stderr\nerr\n"},
		{"KILL", shell("kill -KILL $$"), failed, 137, "killed by signal SIGKILL", ""},
		{"SEGV", shell("ulimit -c 0; kill -SEGV $$"), failed, 139, "killed by signal SIGSEGV", ""},
		{"not found", wire.Lease{Command: []string{"no-such-command-here"}}, failed, 127, "not found", ""},
		{"no such file", wire.Lease{Command: []string{"./nothing"}}, failed, 127, "no such file", ""},
		{"not executable", wire.Lease{Command: []string{plain}}, failed, 126, "permission denied", ""},
		{"not a program", wire.Lease{Command: []string{broken}}, failed, 126, "exec format error", ""},
		{"a folder", wire.Lease{Command: []string{dir}}, failed, 126, "is a directory", ""},
		{"empty", wire.Lease{}, failed, 127, "empty command", ""},
		{"binary log", shell(`printf 'a\000b\377c'`), finished, 0, "", "a\uFFFDb\uFFFDc"},
	}
	s := newFake()
	start(t, s, Config{Slots: 4})
	for _, c := range cases {
		token := s.add(c.lease)[0]
		t.Run(c.name, func(t *testing.T) {
			r := result(t, s, token)
			if r.Outcome != c.outcome || r.ExitCode == nil || *r.ExitCode != c.code {
				t.Errorf("outcome %s, exit code %v; want %s, %d", r.Outcome, r.ExitCode, c.outcome, c.code)
			}
			if !strings.Contains(r.Message, c.message) || (c.message == "") != (r.Message == "") {
				t.Errorf("message %q does not say %q", r.Message, c.message)
			}
			if r.LogTail != c.log {
				t.Errorf("log %q, want %q", r.LogTail, c.log)
			}
		})
	}
}

func TestPayloadSees(t *testing.T) {
	t.Setenv("DIVVY_TOKEN", "secret")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "only-here"), []byte("#!/bin/sh\nenv; pwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newFake()
	p := start(t, s, Config{})
	token := s.add(wire.Lease{
		Command: []string{"only-here"}, Cores: 1, MemoryMB: 500, WalltimeS: 60,
		Env: map[string]string{"COLOUR": "red", "PATH": bin + ":/usr/bin:/bin", "DIVVY_JOB": "99"},
	})[0]
	r := result(t, s, token)
	lines := strings.Split(r.LogTail, "\n")
	dir := filepath.Join(p.cfg.Payload.WorkDir, "1-1")
	for _, want := range []string{
		"COLOUR=red", "DIVVY_JOB=1", "DIVVY_ATTEMPT=1", "DIVVY_TASK=7", "DIVVY_SHARE=Production/MC", "DIVVY_QUEUE=CERN", "DIVVY_PILOT=p1",
		"DIVVY_CORES=1", "DIVVY_MEMORY_MB=500", "DIVVY_WALLTIME_S=60", "DIVVY_OUTPUTS=" + dir + "/outputs.json", "TMPDIR=" + dir + "/tmp", dir + "/work",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the payload does not see %s", want)
		}
	}
	if strings.Contains(r.LogTail, "secret") {
		t.Error("the payload sees the pilot's token")
	}
}

func TestOutputs(t *testing.T) {
	cases := []struct {
		name, script string
		outcome      wire.Outcome
		message      string
	}{
		{"object", `echo '{"lines": 12345678901234567, "name": "x"}' > $DIVVY_OUTPUTS`, finished, ""},
		{"none", `:`, finished, ""},
		{"list", `echo '[1]' > $DIVVY_OUTPUTS`, failed, "outputs: not a JSON object"},
		{"two", `echo '{} {}' > $DIVVY_OUTPUTS`, failed, "more than one"},
		{"null", `echo null > $DIVVY_OUTPUTS`, failed, "not a JSON object"},
		{"zero", `printf '{"a": "\\u0000"}' > $DIVVY_OUTPUTS`, failed, "cannot be stored"},
		{"large", `(printf '{"a": "'; head -c 70000 /dev/zero | tr '\0' x; printf '"}') > $DIVVY_OUTPUTS`, failed, "more than 65536 bytes"},
		{"pipe", `mkfifo $DIVVY_OUTPUTS`, failed, "not a regular file"},
		{"failed anyway", `echo '[1]' > $DIVVY_OUTPUTS; exit 4`, failed, "exit code 4"},
	}
	s := newFake()
	start(t, s, Config{Slots: 2})
	for _, c := range cases {
		token := s.add(shell(c.script))[0]
		t.Run(c.name, func(t *testing.T) {
			r := result(t, s, token)
			if r.Outcome != c.outcome || !strings.Contains(r.Message, c.message) {
				t.Errorf("%s, %q; want %s, %q", r.Outcome, r.Message, c.outcome, c.message)
			}
			if c.name == "object" && (len(r.Outputs) != 2 || r.Outputs["name"] != "x") {
				t.Errorf("outputs %v", r.Outputs)
			}
		})
	}
}

func TestWalltimeLimit(t *testing.T) {
	s := newFake()
	start(t, s, Config{Slots: 2})
	gentle, stubborn := shell("exec sleep 100"), shell("trap '' TERM; while :; do sleep 1; done")
	gentle.WalltimeS, stubborn.WalltimeS = 1, 1
	tokens := s.add(gentle, stubborn)
	for i, want := range []struct {
		code int
		how  string
	}{{143, "SIGTERM"}, {137, "SIGKILL"}} {
		r := result(t, s, tokens[i])
		if r.Outcome != failed || *r.ExitCode != want.code {
			t.Errorf("%s, %d; want failed, %d", r.Outcome, *r.ExitCode, want.code)
		}
		if !strings.Contains(r.Message, "walltime limit: ran 1.") || !strings.Contains(r.Message, "1 s allowed; killed by signal "+want.how) {
			t.Errorf("message %q", r.Message)
		}
	}
}

func part(name string) wire.Lease {
	return wire.Lease{Command: []string{os.Args[0]}, Env: map[string]string{"PILOT_TEST_PART": name}}
}

func TestMemoryLimit(t *testing.T) {
	s := newFake()
	start(t, s, Config{Slots: 1})
	l := part("eat")
	l.MemoryMB = 100
	r := result(t, s, s.add(l)[0])
	if r.Outcome != failed || *r.ExitCode != 5 { // it ends by itself on SIGTERM
		t.Errorf("%s, %d; want failed, 5", r.Outcome, *r.ExitCode)
	}
	if !strings.Contains(r.Message, "memory limit: used ") || !strings.Contains(r.Message, "100 MB allowed; exit code 5") {
		t.Errorf("message %q", r.Message)
	}
	if r.Usage.MemoryMB <= 100 || r.Usage.MemoryMB > 600 {
		t.Errorf("%d MB reported", r.Usage.MemoryMB)
	}
}

func TestUsage(t *testing.T) {
	s := newFake()
	start(t, s, Config{})
	l := part("burn")
	l.Command = []string{"sh", "-c", l.Command[0] + "; exit 0"} // the time of children counts
	r := result(t, s, s.add(l)[0])
	if r.Outcome != finished || r.Usage.CPUSeconds < 0.28 || r.Usage.CPUSeconds > 5 {
		t.Errorf("%s, %v CPU seconds; want about 0.3", r.Outcome, r.Usage.CPUSeconds)
	}
	if r.Usage.MemoryMB < 1 || r.Usage.MemoryMB > 100 {
		t.Errorf("%d MB reported", r.Usage.MemoryMB)
	}
	r = result(t, s, s.add(shell("exit 0"))[0])
	if r.Usage.MemoryMB > 10 { // 0 when it was too quick to be measured
		t.Errorf("a shell used %d MB: the pilot's own memory must not count", r.Usage.MemoryMB)
	}
}

func TestGroupEndsWithItsFirstProcess(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	token := s.add(shell("sleep 1000 & echo $! > child; sleep 1000 & echo begun"))[0]
	r := result(t, s, token)
	if r.Outcome != finished || r.LogTail != "begun\n" {
		t.Errorf("%s, %q: what is left in the background must not hold the job up", r.Outcome, r.LogTail)
	}
	child := pid(t, p.cfg.Payload.WorkDir, "1-1", "work", "child")
	until(t, "the end of the background process", func() bool { return gone(child) })
}

// A pilot that is process 1 of a container inherits the orphans of its jobs; a subreaper stands in for that.
func TestOrphansAreReaped(t *testing.T) {
	const subreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 1, 0); e != 0 {
		t.Fatal(e)
	}
	defer syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 0, 0)
	s := newFake()
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	result(t, s, s.add(shell("sleep 1000 & echo $! > child"))[0])
	child := pid(t, p.cfg.Payload.WorkDir, "1-1", "work", "child")
	until(t, "the orphan reaped", func() bool { return syscall.Kill(child, 0) == syscall.ESRCH })
}
