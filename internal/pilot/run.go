package pilot

import (
	"math"
	"sync"
	"time"

	wire "github.com/divvyhq/divvy/api/client"
)

// run is one lease in the pilot's hands.
type run struct {
	lease wire.Lease
	t     timing

	// The loop's.
	ended   bool // the result is there
	lost    bool // somebody else has the job; the result is nobody's
	sending bool // the result is on its way
	vacated bool // the room is given back
	bare    bool // the result goes without log and outputs
	result  wire.Result

	outputBytes int
	dir         string // of the job's files; "" before they are made
	pid         int    // of the first process, also the process group; 0 before it started

	mu     sync.Mutex
	state  wire.LeaseState
	cpu    float64 // seconds
	memory int64   // peak, bytes
	stop   *stop
	killAt time.Time
	wake   chan struct{} // something was ordered
}

// stop is the order to end a job before its time. Grace 0 kills at once.
type stop struct {
	outcome wire.Outcome
	why     string
	grace   time.Duration
}

func newRun(l wire.Lease, t timing) *run {
	return &run{lease: l, t: t, state: starting, wake: make(chan struct{}, 1)}
}

func (r *run) room() room { return needed(r.lease) }

// order stops the job. The first order says why; a later one can only shorten the grace.
func (r *run) order(s stop) {
	r.mu.Lock()
	at := time.Now().Add(s.grace)
	if r.stop == nil {
		r.stop, r.killAt, r.state = &s, at, draining
	} else if at.Before(r.killAt) {
		r.killAt = at
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ordered is the first order and when its grace ends; nil when the job may go on.
func (r *run) ordered() (*stop, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop, r.killAt
}

// started notes that the process is there.
func (r *run) started() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == starting {
		r.state = running
	}
}

// leaseState is what a renewal says. A result that waits to be sent is draining.
func (r *run) leaseState() wire.LeaseState {
	if r.ended {
		return draining
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *run) used() wire.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wire.Usage{CPUSeconds: math.Round(r.cpu*1e3) / 1e3, MemoryMB: megabytes(r.memory)}
}

// measured takes figures in: what was used so far never shrinks. It returns the peak of memory.
func (r *run) measured(cpu float64, memory int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cpu, r.memory = max(r.cpu, cpu), max(r.memory, memory)
	return r.memory
}

// megabytes rounds up: a job that ran used something.
func megabytes(bytes int64) int64 { return (bytes + 999_999) / 1_000_000 }
