//go:build cgroup && linux

package pilot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// heldPilot runs the jobs that it is given, one after the other and alone in its process, and writes how they ended.
func heldPilot() {
	s := newFake()
	var jobs []wire.Lease
	if err := json.Unmarshal([]byte(os.Getenv("PILOT_TEST_JOBS")), &jobs); err != nil {
		panic(err)
	}
	tokens := s.add(jobs...)
	os.Unsetenv("PILOT_TEST_PART")
	guard := []string{"env", "PILOT_TEST_PART=guard", os.Args[0]}
	err := Run(context.Background(), Config{Client: s, Queue: "CERN", Slots: 1, Cores: 2, MaxJobs: len(jobs), timing: quick,
		Payload: payload.Config{WorkDir: os.Getenv("PILOT_TEST_DIR"), Guard: guard, Alone: true}})
	if err != nil {
		panic(err)
	}
	for _, token := range tokens {
		_ = json.NewEncoder(os.Stdout).Encode(s.results[token])
	}
}

func init() {
	if os.Getenv("PILOT_TEST_PART") == "held" {
		heldPilot()
		os.Exit(0)
	}
}

// startHeld makes such a pilot ready, of a user and in a control group that is delegated to it, as by systemd.
func startHeld(t *testing.T, user int, jobs ...wire.Lease) (group, dir string, cmd *exec.Cmd) {
	t.Helper()
	const root = "/sys/fs/cgroup"
	if err := os.WriteFile(root+"/cgroup.subtree_control", []byte("+cpu +memory"), 0); err != nil {
		t.Fatalf("%v: this test needs root and control groups of version 2 alone: .ci/cgroup", err)
	}
	group, err := os.MkdirTemp(root, "unit-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(group, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, path := range []string{group, group + "/cgroup.procs", group + "/cgroup.subtree_control", group + "/cgroup.threads", dir, filepath.Dir(dir)} {
		if err := os.Chown(path, user, user); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fd.Close() })
	text, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PILOT_TEST_PART=held", "PILOT_TEST_DIR="+dir, "PILOT_TEST_JOBS="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(fd.Fd()), Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	cmd.Stderr = t.Output()
	return group, dir, cmd
}

// spin has two processes use CPU for two seconds, and says which group it is in, how often that had to rest, what it used (µs), and from
// when to when it ran (s).
const spin = `g=/sys/fs/cgroup$(cut -d : -f 3 /proc/self/cgroup); read from x < /proc/uptime
while :; do :; done & a=$!; while :; do :; done & sleep 2; kill $a $!; wait
used=$(sed -n 's/usage_usec //p' $g/cpu.stat); read to x < /proc/uptime; echo $g $(sed -n 's/nr_throttled //p' $g/cpu.stat) $used $from $to`

// The kernel holds jobs to their cores and memory, and what these leave behind ends with their groups.
func TestCgroupHolds(t *testing.T) {
	core, memory := shell(spin), shell("dd if=/dev/zero of=/dev/shm/large bs=1M count=200") // which no measurement of processes sees
	core.Cores, memory.MemoryMB = 1, 100
	group, _, cmd := startHeld(t, 65534, core, memory)
	defer os.Remove("/dev/shm/large")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results [2]wire.Result
	for i, dec := 0, json.NewDecoder(bytes.NewReader(out)); i < 2; i++ {
		if err := dec.Decode(&results[i]); err != nil {
			t.Fatal(err)
		}
	}
	var rests int
	var used, from, to float64
	_, err = fmt.Sscanf(results[0].LogTail, group+"/job-1-1 %d %g %g %g\n", &rests, &used, &from, &to)
	t.Logf("of one core two processes used %.2f s in %.2f s, and had to rest %d times", used/1e6, to-from, rests)
	if err != nil || rests == 0 || used/1e6 > 1.1*(to-from)+0.2 {
		t.Errorf("%q: %v", results[0].LogTail, err)
	}
	if r := results[1]; r.Outcome != failed || !strings.HasPrefix(r.Message, "memory limit: the kernel ended it, 100 MB allowed") {
		t.Errorf("%s %q", r.Outcome, r.Message)
	}
	if left, _ := filepath.Glob(filepath.Join(group, "job-*")); len(left) > 0 {
		t.Errorf("groups are left: %q", left)
	}
}

// Of a pilot that is killed no process of a job is left, whatever that has done to hide, and no group.
func TestCgroupOfKilledPilot(t *testing.T) {
	job := shell("env -i setsid sh -c 'cd /; echo $$ > '$PWD/hidden'; exec sleep 1000' & echo $$ > up; wait")
	group, dir, cmd := startHeld(t, 0, job)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, hidden := pid(t, dir, "1-1", "work", "up"), pid(t, dir, "1-1", "work", "hidden")
	if gone(first) || gone(hidden) {
		t.Fatal("the job is not there")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	until(t, "no process and no group of the job", func() bool {
		left, _ := filepath.Glob(filepath.Join(group, "job-*"))
		return gone(first) && gone(hidden) && len(left) == 0
	})
}
