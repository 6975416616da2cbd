package payload

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plainCgroups stands in for what a kernel gives: folders with files that it has made.
func plainCgroups(t *testing.T, controllers string) *cgroups {
	t.Helper()
	c := &cgroups{dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	if err := os.Mkdir(filepath.Join(c.dir, "pilot"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cgroup.subtree_control", "cgroup.procs", "pilot/cgroup.procs"} {
		write(t, "", c.dir, file)
	}
	write(t, controllers, c.dir, "cgroup.controllers")
	return c
}

func has(t *testing.T, want string, path ...string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(path...)); err != nil || string(got) != want {
		t.Errorf("%s has %q, want %q: %v", filepath.Join(path...), got, want, err)
	}
}

// What is written where, in what the kernel would have made.
func TestCgroupsAreWritten(t *testing.T) {
	c := plainCgroups(t, "cpuset cpu io memory pids\n")
	if err := os.Mkdir(filepath.Join(c.dir, "job-1-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.take(17); err != nil {
		t.Fatal(err)
	}
	has(t, "17", c.dir, "pilot", "cgroup.procs")
	has(t, "+cpu +memory", c.dir, "cgroup.subtree_control")
	if exists(c.dir, "job-1-1") {
		t.Error("the group that a killed pilot has left is still there")
	}
	dir := filepath.Join(c.dir, "job-7-2")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cpu.max", "memory.max", "memory.oom.group", "cgroup.kill"} {
		write(t, "", dir, file)
	}
	write(t, "low 0\nmax 9\noom 1\noom_kill 2\n", dir, "memory.events")
	g, err := c.make("7-2", 4, 500)
	if err != nil {
		t.Fatal(err)
	}
	has(t, "400000 100000", dir, "cpu.max")
	has(t, "550000000", dir, "memory.max")
	has(t, "1", dir, "memory.oom.group")
	if !c.remove(g) {
		t.Error("that the kernel has ended the job for its memory is not seen")
	}
	has(t, "1", dir, "cgroup.kill")
	if _, err := c.make("8-1", 1, 0); err == nil || exists(c.dir, "job-8-1") {
		t.Errorf("a group without files was taken: %v", err)
	}
}

// Without what it takes there are none, and that is said.
func TestNoCgroups(t *testing.T) {
	if err := plainCgroups(t, "cpu pids").take(1); err == nil || !strings.Contains(err.Error(), "no controller memory") {
		t.Error(err)
	}
	var none *cgroups
	if g, err := none.make("1-1", 1, 1); g != nil || err != nil || none.remove(nil) {
		t.Errorf("%v %v", g, err)
	}
}
