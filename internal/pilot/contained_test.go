package pilot

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// fakePodman puts the podman of testdata before others into PATH, and returns the folder of what it keeps.
func fakePodman(t *testing.T) (dir string) {
	t.Helper()
	bin, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("FAKE_PODMAN", dir)
	return dir
}

func inImage(image string, l wire.Lease) wire.Lease {
	l.Image, l.Containers = image, "podman"
	return l
}

// containers are those that the podman of testdata knows of.
func containers(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "container-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// How jobs in containers end, and what is said when they cannot begin.
func TestContainersEnd(t *testing.T) {
	dir := fakePodman(t)
	elsewhere, none, wrong, own := inImage("i", shell("exit 0")), inImage("i", shell("exit 0")), inImage("i", shell("exit 0")), inImage("i", shell("echo own $0"))
	elsewhere.Containers, none.Containers, wrong.Containers, own.Containers = "apptainer", "", "podman {{.Image}}", "env IMAGE={{.Image}} {{.Command}}"
	own.Command = []string{"sh", "-c", "echo own $IMAGE"}
	cases := []struct {
		name    string
		lease   wire.Lease
		outcome wire.Outcome
		code    int
		message string
		log     string
	}{
		{"good", inImage("i", shell("echo fine")), finished, 0, "", "fine\n"},
		{"code", inImage("i", shell("echo bad >&2; exit 3")), failed, 3, "exit code 3", "bad\n"},
		{"an image that is not there", inImage("gone", shell("exit 0")), failed, 125,
			"cannot start: image gone: podman cannot fetch it: initializing source docker://gone: it is not known; 'podman pull --quiet gone' has to succeed on this machine", ""},
		{"no such command", inImage("broken", wire.Lease{Command: []string{"nope"}}), failed, 127,
			"cannot start: image broken: podman: crun: executable file `nope` not found in $PATH: No such file or directory", ""},
		{"a runtime that is not there", elsewhere, failed, 125,
			"cannot start: image i: apptainer is not on this machine: install it, or name another runtime in containers of queue CERN", ""},
		{"a queue that has none any more", none, failed, 125, "cannot start: image i: queue CERN runs no containers any more: the site file says how, under containers", ""},
		{"a queue with a slip", wrong, failed, 125, "cannot start: image i: containers of queue CERN: a command of your own needs", ""},
		{"a command of the site's own", own, finished, 0, "", "own i\n"},
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
			if !strings.HasPrefix(r.Message, c.message) || (c.message == "") != (r.Message == "") {
				t.Errorf("message %q, want %q", r.Message, c.message)
			}
			if c.log != "" && r.LogTail != c.log {
				t.Errorf("log %q, want %q", r.LogTail, c.log)
			}
		})
	}
	if left := containers(t, dir); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}

// A job in a container has the variables of its task and of its own, and none of the pilot.
func TestContainersSee(t *testing.T) {
	dir := fakePodman(t)
	t.Setenv("DIVVY_TOKEN", "secret")
	t.Setenv("OF_THE_PILOT", "yes")
	s := newFake()
	p := start(t, s, Config{})
	l := inImage("i", shell("env; pwd"))
	input := filepath.Join(t.TempDir(), "in put")
	if err := os.WriteFile(input, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Cores, l.MemoryMB, l.Dir = 1, 50, t.TempDir()
	l.Env = map[string]string{"COLOUR": "red", "PATH": "/mine:/usr/bin:/bin", "DIVVY_INPUTS": input + "\nnot-a-path\n/no/such/file"}
	r := result(t, s, s.add(l)[0])
	seen, own := strings.Split(r.LogTail, "\n"), filepath.Join(p.cfg.Payload.WorkDir, "1-1")
	for _, want := range []string{"COLOUR=red", "PATH=/mine:/usr/bin:/bin", "DIVVY_JOB=1", "DIVVY_OUTPUTS=" + own + "/outputs.json", "TMPDIR=" + own + "/tmp", "HOME=" + own + "/work", l.Dir} {
		if !slices.Contains(seen, want) {
			t.Errorf("the job does not see %s", want)
		}
	}
	if strings.Contains(r.LogTail, "secret") || strings.Contains(r.LogTail, "OF_THE_PILOT") {
		t.Errorf("the job sees variables of the pilot:\n%s", r.LogTail)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--memory 55000000b", "--mount type=bind,source=" + own + ",destination=" + own + " ", "--mount type=bind,source=" + l.Dir + ",destination=" + l.Dir + " ",
		"--mount type=bind,source=" + input + ",destination=" + input + ",ro", "--workdir " + l.Dir, "--env COLOUR --env"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("podman was not told %s:\n%s", want, calls)
		}
	}
	if strings.Contains(string(calls), "no/such/file") {
		t.Error("an input that is not there was bound")
	}
}

// An order to stop reaches the command in the container; what does not heed it is killed there, as is what is over its memory. A pull ends too.
func TestContainersAreStopped(t *testing.T) {
	dir := fakePodman(t)
	s := newFake()
	p := start(t, s, Config{Slots: 4, Payload: payload.Config{KeepWork: true}})
	heavy := inImage("i", part("eat"))
	heavy.MemoryMB = 100
	tokens := s.add(
		inImage("i", shell("trap 'echo cleaned; exit 9' TERM; echo $$ > up; while :; do sleep 0.01; done")),
		inImage("i", shell("trap '' TERM; echo $$ > up; while :; do sleep 0.01; done")),
		inImage("slow", shell("exit 0")), heavy)
	work := p.cfg.Payload.WorkDir
	file(t, work, "1-1", "work", "up")
	stubborn := pid(t, work, "2-1", "work", "up")
	until(t, "the pull", func() bool {
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return strings.Contains(string(calls), "pull --quiet slow")
	})
	s.change(func() {
		s.cancels[tokens[0]] = wire.CancelOrder{Lease: tokens[0], Reason: "killed", GraceS: 20}
		s.cancels[tokens[1]] = wire.CancelOrder{Lease: tokens[1], Reason: "reclaim", GraceS: 0.1}
		s.cancels[tokens[2]] = wire.CancelOrder{Lease: tokens[2], Reason: "killed", GraceS: 0.1}
	})
	for i, want := range []struct {
		code    int
		message string
	}{{9, "cancelled: killed; exit code 9"}, {137, "cancelled: reclaim; exit code 137"}, {0, "cancelled: killed; not started"}} {
		r := result(t, s, tokens[i])
		if r.Outcome != cancelled || r.Message != want.message || i < 2 && *r.ExitCode != want.code {
			t.Errorf("%d: %+v", i, r)
		}
	}
	r := result(t, s, tokens[3])
	if r.Outcome != failed || !strings.Contains(r.Message, "memory limit: used ") || !strings.Contains(r.Message, "100 MB allowed") || r.Usage.MemoryMB <= 100 || r.Usage.MemoryMB > 600 {
		t.Errorf("%+v", r)
	}
	if left := containers(t, dir); len(left) > 0 || !gone(stubborn) {
		t.Errorf("containers are left: %q", left)
	}
}

// What the client of podman says when somebody else sends it a signal is not how the job ended.
func TestContainersOutliveTheirClient(t *testing.T) {
	dir := fakePodman(t)
	s := newFake()
	p := start(t, s, Config{Payload: payload.Config{KeepWork: true}})
	token := s.add(inImage("i", shell("echo $$ > up; exec sleep 1000")))[0]
	inside := pid(t, p.cfg.Payload.WorkDir, "1-1", "work", "up")
	clients, err := filepath.Glob(filepath.Join(dir, "client-*"))
	if err != nil || len(clients) != 1 {
		t.Fatalf("%q %v", clients, err)
	}
	if err := syscall.Kill(pid(t, clients[0]), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r := result(t, s, token)
	if r.Outcome != failed || *r.ExitCode != 137 || r.Message != "the client of podman ended before the container" {
		t.Errorf("%+v", r)
	}
	until(t, "the end of the container", func() bool { return gone(inside) && len(containers(t, dir)) == 0 })
}

// A container ends with its pilot, also one that is killed: the guard ends it.
func TestKilledPilotTakesItsContainersAlong(t *testing.T) {
	kept, dir := fakePodman(t), t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PILOT_TEST_PART=pilot", "PILOT_TEST_IMAGE=i", "PILOT_TEST_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inside := pid(t, dir, "1-1", "work", "up")
	if gone(inside) || len(containers(t, kept)) != 1 {
		t.Fatal("the container is not there")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	until(t, "the end of the container", func() bool { return gone(inside) && len(containers(t, kept)) == 0 })
}
