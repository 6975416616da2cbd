package suite

import (
	"context"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/dispatcher"
)

// due ends the jobs whose time is over, and renews the others when it is time.
func (n *dayNode) due(ctx context.Context) error {
	now := time.Now()
	if n.moving.Load() {
		if err := n.endUpTo(ctx, now); err != nil {
			return err
		}
	}
	if len(n.jobs) == 0 || now.Before(n.renewAt) {
		return nil
	}
	return n.renew(ctx)
}

// endUpTo reports the jobs that have ended; of those that a pilot died with nobody hears.
func (n *dayNode) endUpTo(ctx context.Context, now time.Time) error {
	req := client.FinishRequest{Pilot: n.name}
	ended := 0
	n.jobs = slices.DeleteFunc(n.jobs, func(j dayJob) bool {
		if j.ends.After(now) {
			return false
		}
		ended++
		if j.fate == dispatcher.Lost {
			n.die(j)
			return true
		}
		code := 0
		if j.fate == dispatcher.Failed {
			code = 1
		}
		req.Results = append(req.Results, client.Result{Lease: j.lease, Outcome: j.fate, ExitCode: &code, Usage: client.Usage{CPUSeconds: 1000, MemoryMB: 900}})
		return true
	})
	n.free += ended
	n.ended.Add(int64(ended))
	if len(req.Results) == 0 {
		return nil
	}
	n.calls.Add(1)
	reply, err := n.client.Finish(ctx, req)
	if err != nil {
		return err
	}
	for i, v := range reply.Verdicts {
		if v.Verdict != dispatcher.Recorded {
			n.problem("%s: the outcome of a lease that was renewed in time is %s", n.name, v.Verdict)
			continue
		}
		if req.Results[i].Outcome == dispatcher.Finished {
			n.finished.Add(1)
		} else {
			n.failed.Add(1)
		}
	}
	return nil
}

// renew keeps all leases of the node. One that is lost though it was renewed in time is a problem.
func (n *dayNode) renew(ctx context.Context) error {
	req := client.RenewRequest{Pilot: n.name, Leases: make([]client.Renewal, len(n.jobs))}
	for i, j := range n.jobs {
		req.Leases[i] = client.Renewal{Lease: j.lease, State: dispatcher.Running}
	}
	n.calls.Add(1)
	reply, err := n.client.Renew(ctx, req)
	if err != nil {
		return err
	}
	n.renewed.Add(int64(len(reply.Kept)))
	if len(reply.Lost)+len(reply.Cancel) > 0 {
		n.problem("%s: of %d leases that were renewed in time %d are lost and %d to be ended", n.name, len(n.jobs), len(reply.Lost), len(reply.Cancel))
		n.jobs = slices.DeleteFunc(n.jobs, func(j dayJob) bool { return slices.Contains(reply.Lost, j.lease) })
		n.free += len(reply.Lost)
	}
	n.renewAt = time.Now().Add(time.Duration(reply.RenewAfter * float64(time.Second)))
	return nil
}
