package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks is how often a second the kernel counts in /proc: a constant of Linux.
const ticks = 100

// TreeCPU is the processor time of a process, its children that live, and those that have ended.
func TreeCPU(parent int) (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	found := false
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended since
		}
		if err != nil {
			return 0, err
		}
		s := string(text)
		last := 13
		if strings.HasPrefix(s, strconv.Itoa(parent)+" ") {
			found, last = true, 15 // and those of children that were waited for
		} else if f := strings.Fields(s[strings.LastIndex(s, ")")+1:]); len(f) < 2 || f[1] != strconv.Itoa(parent) { // state, parent, …
			continue
		}
		used, err := cpuIn(s, last)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += used
	}
	if !found {
		return 0, fmt.Errorf("process %d is no more", parent)
	}
	return sum, nil
}

// CPU is the processor time of a process alone.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	return cpuIn(string(text), 13)
}

// cpuIn adds up utime and stime, the 14th and 15th field, or those up to another; the name before them, in brackets, may have blanks in it.
func cpuIn(stat string, last int) (sum time.Duration, err error) {
	f := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(f) < last {
		return 0, fmt.Errorf("not a /proc stat: %q", stat)
	}
	for _, v := range f[11:last] {
		n, e := strconv.ParseInt(v, 10, 64)
		sum, err = sum+time.Duration(n)*time.Second/ticks, errors.Join(err, e)
	}
	return sum, err
}

// MayOpen makes sure that the processes that are started from now on may have so many files open: a connection is
// one. They raise the soft limit up to the hard one by themselves, as every program in Go does.
func MayOpen(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max >= uint64(n) {
		return nil
	}
	hard := limit.Max
	limit.Max = uint64(n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%d open files are needed in one process, the hard limit is %d (ulimit -Hn): %w", n, hard, err)
	}
	return nil
}
