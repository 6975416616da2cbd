package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Holdings looks up the leases of attempts, in the order of its argument, as the leader has them now: at whatever daemon a pilot asks, it is
// known what it was given a moment ago. A token that is returned may be lost by the time that it is used, as any other.
func (d *Dispatcher) Holdings(ctx context.Context, attempts []lookup.HeldJob) ([]lookup.Holding, error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	jobs := make([]int64, len(attempts))
	for i, h := range attempts {
		jobs[i] = h.Job
	}
	held, err := d.heldNow(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("holdings: %w", err)
	}
	var others []int64
	for i := range jobs {
		if held[i].is == nil {
			others = append(others, jobs[i])
		}
	}
	rest, err := d.without(ctx, others)
	if err != nil {
		return nil, fmt.Errorf("holdings: %w", err)
	}
	out := make([]lookup.Holding, len(attempts))
	for i, h := range attempts {
		l := held[i].is
		if l == nil {
			out[i] = rest[h.Job]
			continue
		}
		out[i] = lookup.Holding{JobState: leased, Attempt: int(l.Attempt)}
		if int(l.Attempt) == h.Attempt {
			queue, _ := d.site.queue(l.Queue)
			out[i].Lease, out[i].State, out[i].Queue = tokenOf(l.Fence()), held[i].state(), queue.Name
		}
	}
	return out, nil
}

// leased is the state of jobs that have a lease.
const leased = "leased"

// holding is the lease of a job, and what its pilot last said.
type holding struct {
	is   *machine.Lease // nil: it has none
	seen lease.Seen
}

func (h holding) state() LeaseState {
	if h.seen.At.IsZero() && h.is.Started {
		return Running
	}
	return stateWords[h.seen.State]
}

// heldNow are the leases of jobs, one for each, by a batch that is not older than the question. ErrUnavailable when nobody leads, or this
// daemon does not get that batch in time.
func (d *Dispatcher) heldNow(ctx context.Context, jobs []int64) (held []holding, err error) {
	answer, err := d.ask(ctx, lease.Ask{Seen: jobs})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, fmt.Errorf("%w: this daemon does not follow the log", ErrUnavailable))
	defer cancel()
	err = poll(ctx, func() (bool, error) {
		err := d.eye.machine(ctx, func(m *machine.Machine) {
			if at, _ := m.Stand(); at >= answer.Seq {
				held = leasesOf(m, jobs, answer.Seen)
			}
		})
		if errors.Is(err, ErrUnavailable) {
			err = nil
		}
		return held != nil, err
	})
	return held, err
}

func leasesOf(m *machine.Machine, jobs []int64, seen []lease.Seen) []holding {
	held := make([]holding, len(jobs))
	for i, job := range jobs {
		if l, ok := m.Lease(job); ok {
			held[i] = holding{&l, seen[i]}
		}
	}
	return held
}

// without is by job what became of those that have no lease. Where the tables have not heard of it yet they are brought up to the log.
func (d *Dispatcher) without(ctx context.Context, jobs []int64) (map[int64]lookup.Holding, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	by, err := d.Reader.Stand(ctx, jobs)
	if err != nil {
		return nil, err
	}
	behind := false
	if err := d.View(ctx, func(v machine.View) {
		for id, j := range by {
			switch is := v.Job(j.Task, id); {
			case j.Over():
			case is.Ready > 0:
				j.State = "ready"
			case is.Waiting > 0 || is.Paused > 0:
				j.State = "waiting"
			default: // it is over, or has a lease by now
				behind = true
			}
			by[id] = j
		}
	}); err != nil {
		return nil, err
	}
	if behind {
		err := d.catchUp(ctx)
		if err == nil {
			by, err = d.Reader.Stand(ctx, jobs)
		}
		if err != nil {
			return nil, err
		}
	}
	out := make(map[int64]lookup.Holding, len(by))
	for id, j := range by {
		out[id] = lookup.Holding{JobState: j.State, Attempt: j.Attempt}
	}
	return out, nil
}

// LeaseQueues are the queues at which leases are, by token, as Holdings knows them. Leases that are over have none.
func (d *Dispatcher) LeaseQueues(ctx context.Context, leases []string) (map[string]string, error) {
	var keys []lease.Key
	var jobs []int64
	for _, l := range leases {
		if k, ok := parseLease(l); ok {
			keys, jobs = append(keys, k), append(jobs, k.Job)
		}
	}
	at := map[string]string{}
	if len(jobs) == 0 {
		return at, nil
	}
	held, err := d.heldNow(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("queues of leases: %w", err)
	}
	for i, k := range keys {
		if l := held[i].is; l != nil && l.Fence() == k {
			queue, _ := d.site.queue(l.Queue)
			at[tokenOf(k)] = queue.Name
		}
	}
	return at, nil
}
