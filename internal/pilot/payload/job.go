package payload

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Job is one lease on this machine.
type Job struct {
	lease  wire.Lease
	timing Timing

	dir string // of the job's files; "" before they are made
	pid int    // of the first process, also the process group; 0 before it started

	container *contained // nil: it runs in none
	cgroup    *cgroup    // nil: none holds it to its cores and memory

	streams [2]*os.File // of output and errors, to write and to read; may be one file. Tidy closes them

	mu      sync.Mutex
	running bool // it has started
	state   wire.LeaseState
	cpu     float64 // seconds
	memory  int64   // peak, bytes
	stop    *Stop
	killAt  time.Time
	struck  syscall.Signal // see Struck
	wake    chan struct{}  // a stop was ordered
}

// Stop is the order to end a job before its time. Grace 0 kills at once.
type Stop struct {
	Outcome wire.Outcome
	Why     string
	Grace   time.Duration
}

// NewJob is a job that does not run yet.
func (h *Host) NewJob(l wire.Lease) *Job {
	return &Job{lease: l, timing: h.owner.Timing, state: "starting", wake: make(chan struct{}, 1)}
}

// cwd is the folder that the job runs in.
func (j *Job) cwd() string { return cmp.Or(j.lease.Dir, filepath.Join(j.dir, workName)) }

// outside says whether what the job runs is not below its first process, which is the client of a runtime then.
func (j *Job) outside() bool { return j.container != nil && j.container.runtime.Outside() }

// Stop ends the job. The first order says why; a later one can only shorten the grace.
func (j *Job) Stop(s Stop) {
	j.mu.Lock()
	at := time.Now().Add(s.Grace)
	if j.stop == nil {
		j.stop, j.killAt, j.state = &s, at, "draining"
	} else if at.Before(j.killAt) {
		j.killAt = at
	}
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// ordered is the first order and when its grace ends; nil when the job may go on.
func (j *Job) ordered() (*Stop, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stop, j.killAt
}

// started notes that the process is there.
func (j *Job) started() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running = true
	if j.state == "starting" {
		j.state = "running"
	}
}

// State is starting, running or, once it was stopped, draining.
func (j *Job) State() wire.LeaseState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Struck returns the signal that ended the job and that its pilot did not send, of those by which batch systems end theirs: SIGTERM, SIGUSR2,
// SIGKILL; 0 if there was none. Shells and others that pass on how their command ended say it by their exit code.
func (j *Job) Struck() syscall.Signal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.struck
}

// Used is what the job has used so far.
func (j *Job) Used() wire.Usage {
	j.mu.Lock()
	defer j.mu.Unlock()
	return wire.Usage{CPUSeconds: math.Round(j.cpu*1e3) / 1e3, MemoryMB: megabytes(j.memory)}
}

// measured takes figures in: what was used so far never shrinks. It returns the peak of memory.
func (j *Job) measured(cpu float64, memory int64) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cpu, j.memory = max(j.cpu, cpu), max(j.memory, memory)
	return j.memory
}

// megabytes rounds up: a job that ran used something.
func megabytes(bytes int64) int64 { return (bytes + 999_999) / 1_000_000 }
