package payload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// kin are the processes below a pilot that is alone in its process: it is their subreaper, so what a job has left running, in whatever
// group, session and environment, becomes a child of the pilot and not of process 1. A nil kin knows of none.
type kin struct {
	guard    *guard
	mark     string
	sigkill  func(pid int) error
	patience time.Duration // with those that were killed in one go
	quit     chan struct{}
	done     sync.WaitGroup

	mu     sync.Mutex   // held while a process starts, so that it is not taken for a stray
	firsts map[int]*Job // first processes of jobs, which others wait for
	told   map[int]bool // groups that the guard knows of by us
}

// newKin makes this process the subreaper; nil: this system has none.
func newKin(g *guard, mark string) (*kin, error) {
	switch err := subreaper(); {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	k := makeKin(g, mark)
	k.done.Go(k.watch)
	return k, nil
}

func makeKin(g *guard, mark string) *kin {
	return &kin{guard: g, mark: mark, sigkill: func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, patience: killing,
		quit: make(chan struct{}), firsts: map[int]*Job{}, told: map[int]bool{}}
}

// start runs f, which starts the first process of a job.
func (k *kin) start(j *Job, f func() (pid int, err error)) error {
	if k == nil {
		_, err := f()
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := f()
	if err == nil {
		k.firsts[pid] = j
	}
	return err
}

// over says that the first process of a job was waited for: its id may belong to another process from now on.
func (k *kin) over(pid int) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.firsts, pid)
}

// clear kills what the job j, which is over, has left behind.
func (k *kin) clear(j *Job) {
	if k != nil {
		k.sweep(func(s stray) bool { return k.left(j, s) })
	}
}

// close kills all that is left.
func (k *kin) close() {
	if k == nil {
		return
	}
	close(k.quit)
	k.done.Wait()
	k.sweep(func(stray) bool { return true })
}

// watch waits for strays that have ended, and tells the guard of groups that the pilot's death would leave behind. It takes at most a
// fiftieth of a core.
func (k *kin) watch() {
	pause := time.Second
	for {
		select {
		case <-k.quit:
			return
		case <-time.After(pause):
		}
		begun := time.Now()
		k.look()
		pause = max(time.Second, 50*time.Since(begun))
	}
}

func (k *kin) look() {
	all := processes()
	k.mu.Lock()
	defer k.mu.Unlock()
	groups := map[int]bool{}
	for _, s := range all {
		if s.parent == os.Getpid() && s.zombie && k.isStray(s) {
			_, _ = syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		} else if below(all, s.pid, os.Getpid()) && k.firsts[s.group] == nil && !k.isGuard(s.group) && s.group != syscall.Getpgrp() {
			groups[s.group] = true
		}
	}
	for g := range groups {
		if !k.told[g] {
			k.guard.add(g)
		}
	}
	for g := range k.told {
		if !groups[g] {
			k.guard.remove(g)
		}
	}
	k.told = groups
}

func (k *kin) isGuard(pid int) bool { return k.guard != nil && k.guard.cmd.Process.Pid == pid }

// isStray says whether a child of the pilot is one that a job has left.
func (k *kin) isStray(s stray) bool { return k.firsts[s.pid] == nil && !k.isGuard(s.pid) }

// left says whether a stray is of the job j, which is over. Where nothing tells, it is as soon as all jobs have ended that ran when
// it began.
func (k *kin) left(j *Job, s stray) bool {
	if other := k.firsts[s.group]; other != nil {
		return false
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.pid))
	vars := strings.Split(string(env), "\x00")
	if slices.Contains(vars, runVariable+"="+k.mark) {
		return slices.Contains(vars, "DIVVY_JOB="+strconv.FormatInt(j.lease.Job, 10))
	}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.pid)); err == nil && j.dir != "" && strings.HasPrefix(cwd, j.dir+"/") {
		return true
	}
	for pid := range k.firsts {
		if first, ok := look(pid); ok && first.began <= s.began {
			return false
		}
	}
	return true
}

// sweep kills the strays that mine chooses, and what they leave in turn. What a kill does not end is left alone: it is tried once.
func (k *kin) sweep(mine func(stray) bool) {
	held := map[int]bool{}
	for range 50 {
		var killed []int
		for _, s := range processes() {
			if s.parent == os.Getpid() && !held[s.pid] && k.kill(s, mine) {
				killed = append(killed, s.pid)
			}
		}
		end := time.Now().Add(k.patience)
		for _, pid := range killed {
			held[pid] = !k.reap(pid, end)
		}
		if !slices.ContainsFunc(killed, func(pid int) bool { return !held[pid] }) {
			return
		}
	}
}

// kill sends SIGKILL to a child of the pilot if it is a stray that mine chooses, and says whether it is. Jobs may have started since
// it was seen.
func (k *kin) kill(s stray, mine func(stray) bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now, ok := look(s.pid); !ok || now.began != s.began || !k.isStray(s) || !s.zombie && !mine(s) {
		return false
	}
	_ = k.sigkill(s.pid) // a child of ours keeps its id until it is waited for; whether this has ended it, reap says
	return true
}

// reap waits for a stray that was killed, and says whether it is gone. Between two looks jobs may start.
func (k *kin) reap(pid int, end time.Time) bool {
	for {
		if k.reaped(pid) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		<-time.After(time.Millisecond)
	}
}

func (k *kin) reaped(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.firsts[pid] != nil { // of a job that has got the id meanwhile
		return true
	}
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err != nil && !errors.Is(err, syscall.EINTR)
}

// stray is a process as /proc has it.
type stray struct {
	pid, parent, group int
	zombie             bool
	began              int64 // clock ticks since the machine started
}

// processes are all that can be seen.
func processes() map[int]stray {
	all := map[int]stray{}
	files, _ := filepath.Glob("/proc/[0-9]*")
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(file))
		if s, ok := look(pid); ok {
			all[pid] = s
		}
	}
	return all
}

func look(pid int) (stray, bool) {
	f := stat(pid)
	if f == nil {
		return stray{}, false
	}
	return stray{pid: pid, zombie: f[0][0] == 'Z', parent: int(number(f[1])), group: int(number(f[2])), began: number(f[19])}, true
}

// below says whether a process descends from another one.
func below(all map[int]stray, pid, from int) bool {
	for range 1000 {
		s, ok := all[pid]
		if !ok || s.parent <= 1 {
			return false
		}
		if s.parent == from {
			return true
		}
		pid = s.parent
	}
	return false
}
