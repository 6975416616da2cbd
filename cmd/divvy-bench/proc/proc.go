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
	var sum int64
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
		f := strings.Fields(s[strings.LastIndex(s, ")")+1:]) // state, parent, …
		if len(f) < 15 {
			return 0, fmt.Errorf("%s: not a /proc stat: %q", file, s)
		}
		own := strings.HasPrefix(s, strconv.Itoa(parent)+" ")
		if found = found || own; !own && f[1] != strconv.Itoa(parent) {
			continue
		}
		of := f[11:13] // user, system
		if own {
			of = f[11:15] // and those of children that were waited for
		}
		for _, v := range of {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			sum += n
		}
	}
	if !found {
		return 0, fmt.Errorf("process %d is no more", parent)
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// CPUIn reads utime and stime, the 14th and 15th field; the name before them, in brackets, may have blanks in it.
func CPUIn(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("not a /proc stat: %q", stat)
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks, errors.Join(err, err2)
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
