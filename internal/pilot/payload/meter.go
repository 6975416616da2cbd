package payload

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// firstSample is how soon a new job is measured; many are over before a second look.
const firstSample = 20 * time.Millisecond

// clockTicks a second: what /proc counts CPU time in, on every Linux.
const clockTicks = 100

// meter measures the process groups of all jobs in one walk over /proc, and stops those over their memory limit.
// The walks take at most a fiftieth of one core, however many processes there are.
type meter struct {
	every time.Duration
	wake  chan struct{} // a job came
	quit  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	jobs map[int]*Job    // by process group
	away map[string]*Job // in containers that are not below the pilot, by the line in the environment of their processes
}

func newMeter(every time.Duration) *meter {
	m := &meter{every: every, wake: make(chan struct{}, 1), quit: make(chan struct{}), jobs: map[int]*Job{}, away: map[string]*Job{}}
	m.done.Go(m.loop)
	return m
}

func (m *meter) add(pgid int, j *Job) {
	m.mu.Lock()
	if j.outside() {
		m.away[j.mark()] = j
	} else {
		m.jobs[pgid] = j
	}
	m.mu.Unlock()
	if s := (usage{}); !j.outside() && s.add(pgid) { // short jobs have at least this
		j.measured(s.cpu, s.peak())
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// mark is the line that the environment of all processes of the job has.
func (j *Job) mark() string { return outputsVariable + "=" + filepath.Join(j.dir, outputsName) }

func (m *meter) remove(pgid int, j *Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j.outside() {
		delete(m.away, j.mark())
	} else {
		delete(m.jobs, pgid)
	}
}

func (m *meter) close() {
	close(m.quit)
	m.done.Wait()
}

func (m *meter) loop() {
	timer := time.NewTimer(m.every)
	defer timer.Stop()
	pause, next := m.every, time.Now().Add(m.every)
	for {
		var tick <-chan time.Time
		if m.busy() {
			timer.Reset(time.Until(next))
			tick = timer.C
		}
		select {
		case <-m.quit:
			return
		case <-m.wake:
			pause = firstSample
			if at := time.Now().Add(pause); at.Before(next) || next.Before(time.Now()) {
				next = at
			}
		case <-tick:
			begun := time.Now()
			m.sample()
			pause = max(min(2*pause, m.every), 50*time.Since(begun))
			next = time.Now().Add(pause)
		}
	}
}

func (m *meter) busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.jobs)+len(m.away) > 0
}

// sample measures all jobs once.
func (m *meter) sample() {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := proc.Readdirnames(-1)
	proc.Close()
	m.mu.Lock()
	sums := make(map[*Job]*usage, len(m.jobs))
	jobs := make(map[int]*Job, len(m.jobs))
	maps.Copy(jobs, m.jobs)
	away := maps.Clone(m.away)
	m.mu.Unlock()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		pgid, err := syscall.Getpgid(pid) // far cheaper than reading the stat of every process
		j := jobs[pgid]
		if j == nil && err == nil {
			j = marked(away, pid)
		}
		if j == nil {
			continue
		}
		if sums[j] == nil {
			sums[j] = &usage{}
		}
		sums[j].add(pid)
	}
	for j, s := range sums {
		j.check(*s)
	}
}

// marked is the job whose line the environment of a process has; nil: none. That of another user's process cannot be read.
func marked(jobs map[string]*Job, pid int) *Job {
	if len(jobs) == 0 {
		return nil
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || !bytes.Contains(env, []byte(outputsVariable)) {
		return nil
	}
	for line := range strings.SplitSeq(string(env), "\x00") {
		if j := jobs[line]; j != nil {
			return j
		}
	}
	return nil
}

// check takes a measurement in and stops a job over its memory limit.
func (j *Job) check(s usage) {
	peak := j.measured(s.cpu, s.peak())
	if limit := j.lease.MemoryMB; limit > 0 && peak > limit*1_000_000 {
		j.Stop(Stop{Outcome: "failed", Grace: j.timing.MemoryGrace,
			Why: fmt.Sprintf("memory limit: used %d MB, %d MB allowed", megabytes(peak), limit)})
	}
}

// usage is a sum over processes.
type usage struct {
	cpu float64 // seconds, children that were waited for included
	rss int64   // bytes
	hwm int64   // bytes, the highest peak of a single process
}

func (u *usage) peak() int64 { return max(u.rss, u.hwm) }

// add counts one process in; false when it is gone or a zombie without memory.
func (u *usage) add(pid int) bool {
	f := stat(pid)
	if f == nil {
		return false
	}
	ticks := number(f[11]) + number(f[12]) + number(f[13]) + number(f[14])
	u.cpu += float64(ticks) / clockTicks
	u.rss += number(f[21]) * int64(os.Getpagesize())
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	if _, rest, ok := bytes.Cut(status, []byte("\nVmHWM:")); ok {
		if kb := bytes.Fields(rest[:min(len(rest), 40)]); len(kb) > 0 {
			u.hwm = max(u.hwm, number(kb[0])*1024)
		}
	}
	return true
}

// stat is what /proc/pid/stat has from the state on; nil when the process is gone.
func stat(pid int) [][]byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before it may hold anything
	if len(f) < 22 {
		return nil
	}
	return f
}

func number(b []byte) int64 {
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}
