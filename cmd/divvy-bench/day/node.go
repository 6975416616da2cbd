package day

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// node is one node: it pulls for all slots that are free, and renews and finishes for all that are not.
type node struct {
	*pilots
	name, queue string
	rand        *rand.Rand
	free        int
	jobs        []running
	renewAt     time.Time
	waiting     bool // for its pull
	pulled      chan pulled
	pulls       int
}

// running is a job that runs there.
type running struct {
	lease string
	key   int64 // of the attempt
	ends  time.Time
	fate  wire.Outcome
}

type pulled struct {
	reply wire.PullReply
	err   error
}

// pullWait is how long a pull waits for a job: what the end of the day has to wait for as well.
const pullWait = 5 * time.Second

func (n *node) run(ctx context.Context) error {
	// Nodes of a site do not start in the same second.
	timer := time.NewTimer(time.Duration(n.rand.Float64() * float64(n.Lease) / 10))
	defer timer.Stop()
	for {
		wake := *n.signals.moves.Load()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.signals.stopping:
			return nil
		case got := <-n.pulled:
			if err := n.start(got); err != nil {
				return err
			}
		case <-wake:
		case <-timer.C:
		}
		if err := n.due(ctx); err != nil {
			return err
		}
		n.pull(ctx)
		timer.Reset(time.Until(n.next()))
	}
}

// pull asks for as many jobs as there are free slots, one call at a time.
func (n *node) pull(ctx context.Context) {
	select {
	case <-n.signals.closing:
		return
	default:
	}
	if n.waiting || n.free == 0 {
		return
	}
	n.waiting, n.pulls = true, n.pulls+1
	n.counts.pulling.Add(1)
	req := wire.PullRequest{Queue: n.queue, Pilot: n.name, Node: n.name, Slot: wire.Slot{Cores: n.free}, Max: n.free,
		WaitS: pullWait.Seconds(), RequestID: fmt.Sprint(n.name, " ", n.pulls)}
	go func() {
		for {
			n.counts.calls.Add(1)
			asked := time.Now()
			reply, err := n.client.Pull(ctx, req)
			if err == nil && n.signals.moving.Load() {
				n.waits.add(time.Since(asked))
			}
			if client.IsUnavailable(err) && stage.Pause(ctx, max(time.Second, client.RetryAfter(err))) == nil {
				n.counts.refused.Add(1)
				continue // the same request: what it may have been given is not lost
			}
			n.pulled <- pulled{reply, err}
			return
		}
	}()
}

// start runs what a pull has brought, and draws how each will end.
func (n *node) start(got pulled) error {
	n.waiting = false
	defer n.counts.pulling.Add(-1)
	if errors.Is(got.err, client.ErrNoJobs) {
		return nil
	}
	if got.err != nil {
		return got.err
	}
	n.counts.granted.Add(int64(len(got.reply.Leases)))
	n.attempts.granted(got.reply.Leases)
	now := time.Now()
	if len(n.jobs) == 0 || n.renewAt.IsZero() {
		n.renewAt = now.Add(time.Duration((0.5 + n.rand.Float64()/2) * got.reply.RenewAfter * float64(time.Second)))
	}
	for _, l := range got.reply.Leases {
		job := running{lease: l.Lease, key: key(l.Job, l.Attempt), fate: wire.Finished, ends: now.Add(time.Duration(n.rand.ExpFloat64() * float64(n.fast(n.MeanJob))))}
		switch x := n.rand.Float64(); {
		case x < n.Lose:
			job.fate = wire.Lost
		case x < n.Lose+n.Fail:
			job.fate = wire.Failed
		}
		n.jobs = append(n.jobs, job)
	}
	n.free -= len(got.reply.Leases)
	return nil
}

// next is when something is to be done without being called.
func (n *node) next() time.Time {
	at := n.renewAt
	if len(n.jobs) == 0 {
		at = time.Now().Add(time.Hour)
	}
	if n.signals.moving.Load() {
		for _, j := range n.jobs {
			if j.ends.Before(at) {
				at = j.ends
			}
		}
	}
	return at
}

// due ends the jobs whose time is over, and renews the others when it is time.
func (n *node) due(ctx context.Context) error {
	now := time.Now()
	if n.signals.moving.Load() {
		if err := n.endUpTo(ctx, now); err != nil {
			return err
		}
	}
	if len(n.jobs) == 0 || now.Before(n.renewAt) {
		return nil
	}
	return n.renew(ctx)
}

// endUpTo reports the jobs that have ended. Jobs of pilots that died are not reported.
func (n *node) endUpTo(ctx context.Context, now time.Time) error {
	req := wire.FinishRequest{Pilot: n.name}
	before := len(n.jobs)
	n.jobs = slices.DeleteFunc(n.jobs, func(j running) bool {
		if j.ends.After(now) {
			return false
		}
		if j.fate == wire.Lost {
			n.attempts.die(j.key)
			return true
		}
		code := 0
		if j.fate == wire.Failed {
			code = 1
		}
		req.Results = append(req.Results, wire.Result{Lease: j.lease, Outcome: j.fate, ExitCode: &code, Usage: wire.Usage{CPUSeconds: 1000, MemoryMB: 900}})
		return true
	})
	n.free += before - len(n.jobs)
	n.counts.ended.Add(int64(before - len(n.jobs)))
	if len(req.Results) == 0 {
		return nil
	}
	n.counts.calls.Add(1)
	reply, err := n.client.Finish(ctx, req)
	if err != nil {
		return err
	}
	for i, v := range reply.Verdicts {
		switch {
		case v.Verdict != wire.Recorded:
			n.attempts.problem("%s: the outcome of a lease that was renewed in time is %s", n.name, v.Verdict)
		case req.Results[i].Outcome == wire.Finished:
			n.counts.finished.Add(1)
		default:
			n.counts.failed.Add(1)
		}
	}
	return nil
}

// renew keeps all leases of the node. One that is lost though it was renewed in time is a problem.
func (n *node) renew(ctx context.Context) error {
	req := wire.RenewRequest{Pilot: n.name, Leases: make([]wire.Renewal, len(n.jobs))}
	for i, j := range n.jobs {
		req.Leases[i] = wire.Renewal{Lease: j.lease, State: wire.Running}
	}
	n.counts.calls.Add(1)
	reply, err := n.client.Renew(ctx, req)
	if err != nil {
		return err
	}
	n.counts.renewed.Add(int64(len(reply.Kept)))
	if len(reply.Lost)+len(reply.Cancel) > 0 {
		n.attempts.problem("%s: of %d leases that were renewed in time %d are lost and %d to be ended", n.name, len(n.jobs), len(reply.Lost), len(reply.Cancel))
		n.jobs = slices.DeleteFunc(n.jobs, func(j running) bool { return slices.Contains(reply.Lost, j.lease) })
		n.free += len(reply.Lost)
	}
	n.renewAt = time.Now().Add(time.Duration(reply.RenewAfter * float64(time.Second)))
	return nil
}
