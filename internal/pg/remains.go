package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clearRemains ends whatever still works in the data folder after its owner died, so that a new server may
// start. The caller holds the owner's lock, so no other process starts one meanwhile.
func (c *Cluster) clearRemains(ctx context.Context) error {
	asked := false
	for {
		pid := pidIn(filepath.Join(c.at.data, pidFile))
		running := workers(c.at.data, pid)
		if len(running) == 0 {
			return c.dropStaleLocks()
		}
		// The kernel's death signal did this already, except where there is none. A second SIGINT is harmless.
		if !asked && slices.Contains(running, pid) {
			c.log.Info("private cluster: stopping the server of an owner that ended", "pid", pid)
			_ = syscall.Kill(pid, syscall.SIGINT)
			asked = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("an earlier server (processes %v) still works in %s: %w", running, c.at.data, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pidFile is the server's own lock file in its data folder.
const pidFile = "postmaster.pid"

// pidIn reads the process number in the first line of a lock file; 0 when there is none.
func pidIn(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(first))
	return max(pid, 0)
}

// workers lists the processes that work in the data folder: every server process has it as its current
// folder. Without /proc only the postmaster itself is known.
func workers(data string, postmaster int) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(dirs) == 0 {
		if postmaster > 0 && alive(postmaster) {
			return []int{postmaster}
		}
		return nil
	}
	var pids []int
	for _, link := range dirs {
		if to, err := os.Readlink(link); err == nil && to == data {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// dropStaleLocks removes the lock files of a dead server whose number another process has now, or whose remains
// nobody reaps: the server would refuse to start because of them. Nothing works in the folder, as proved above.
func (c *Cluster) dropStaleLocks() error {
	for _, path := range []string{filepath.Join(c.at.data, pidFile), filepath.Join(c.at.run, socketName+".lock")} {
		pid := pidIn(path)
		if pid == 0 || !alive(pid) {
			continue // the server sees that by itself
		}
		c.log.Warn("private cluster: removing the lock file of a dead server", "file", path, "pid", pid)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
