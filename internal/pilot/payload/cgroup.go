package payload

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroups hold jobs to their cores and memory, where the machine gives the pilot a control group of its own (version 2): a systemd unit
// with Delegate=yes, or a container. A nil cgroups holds nothing.
//
//	group of the pilot ── pilot                    this process and its guard
//	                   └─ job-17-2 (for each job)  cpu.max, memory.max
type cgroups struct {
	dir string
	log *slog.Logger
}

// cgroup is that of one job.
type cgroup struct {
	dir string
	fd  *os.File
}

// spare is what a job may have above its memory before the kernel ends it at once, in parts of it: below, it is asked to end, see meter.
const spare = 10

// openCgroups takes the control group that this process is in, in whose place it goes into one below. The error says why there is none.
func openCgroups(log *slog.Logger) (*cgroups, error) {
	dir, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	c := &cgroups{dir: dir, log: log}
	return c, c.take(os.Getpid())
}

// take makes it a group of groups. Those of jobs that a killed pilot has left go.
func (c *cgroups) take(pid int) error {
	has, err := os.ReadFile(filepath.Join(c.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, want := range []string{"cpu", "memory"} {
		if !slices.Contains(strings.Fields(string(has)), want) {
			return fmt.Errorf("%s has no controller %s", c.dir, want)
		}
	}
	old, _ := filepath.Glob(filepath.Join(c.dir, "job-*"))
	for _, dir := range old {
		_ = os.Remove(dir)
	}
	own := filepath.Join(c.dir, "pilot")
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // names of control groups are no secret
		return err
	}
	if err := put(own, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return err
	}
	if err := put(c.dir, "cgroup.subtree_control", "+cpu +memory"); err != nil {
		_ = put(c.dir, "cgroup.procs", strconv.Itoa(pid))
		_ = os.Remove(own)
		return fmt.Errorf("%w: other processes are in %s", err, c.dir)
	}
	return nil
}

// try starts a program that there is not in a group of its own: it comes as far as that.
func (c *cgroups) try() error {
	g, err := c.make("try", 1, 0)
	if err != nil {
		return err
	}
	defer c.remove(g)
	cmd := exec.Cmd{Path: filepath.Join(c.dir, "no-such-program"), SysProcAttr: inCgroup(attributes(nil), g)}
	if err := cmd.Start(); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a process cannot begin in a group: %w", err)
	}
	return nil
}

// make makes the group of a job.
func (c *cgroups) make(name string, cores int, memoryMB int64) (g *cgroup, err error) {
	if c == nil {
		return nil, nil
	}
	g = &cgroup{dir: filepath.Join(c.dir, "job-"+name)}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as above
		return nil, err
	}
	err = put(g.dir, "cpu.max", fmt.Sprintf("%d 100000", max(1, cores)*100_000))
	if err == nil && memoryMB > 0 {
		bytes := memoryMB * 1_000_000
		err = put(g.dir, "memory.max", strconv.FormatInt(bytes+bytes/spare, 10))
		_ = put(g.dir, "memory.oom.group", "1") // all of the job, not one process of it
		_ = put(g.dir, "memory.swap.max", "0")  // a kernel without swap has no such file
	}
	if err == nil {
		g.fd, err = os.Open(g.dir)
	}
	if err != nil {
		_ = os.Remove(g.dir)
		return nil, err
	}
	return g, nil
}

// remove kills what is left in a group, and removes it. It says whether the kernel has ended the job for its memory.
func (c *cgroups) remove(g *cgroup) (outOfMemory bool) {
	if g == nil {
		return false
	}
	events, _ := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	for line := range strings.Lines(string(events)) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); found && n != "0" {
			outOfMemory = true
		}
	}
	_ = g.fd.Close()
	if err := endCgroup(g.dir); err != nil {
		c.log.Warn("a control group is left", "error", err)
	}
	return outOfMemory
}

// endCgroup kills what is in a group and removes it.
func endCgroup(dir string) (err error) {
	_ = put(dir, "cgroup.kill", "1") // since Linux 5.14
	for end := time.Now().Add(killing); ; <-time.After(time.Millisecond) {
		if err = os.Remove(dir); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// put writes a file of the kernel, which is there already.
func put(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
