package outgrow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/dispatcher"
)

// node pulls, renews and finishes many jobs at a time.
type node struct {
	client      *client.Client
	name, queue string
	batch       int
	leases      []string
	did         int   // in the step under way
	finished    int64 // ever
}

type nodes []*node

func (r *run) newNodes() (all nodes) {
	for i := range r.sizes.Nodes {
		all = append(all, &node{client: r.daemon.Client, batch: r.sizes.Batch, name: fmt.Sprint("node-", i), queue: r.Plan.Queue(i)})
	}
	return all
}

// all has every node take a step, and counts the jobs.
func (all nodes) all(ctx context.Context, step func(*node) error) (n int, err error) {
	var group errgroup.Group
	for _, node := range all {
		node.did = 0
		group.Go(func() error { return step(node) })
	}
	err = group.Wait()
	for _, node := range all {
		n += node.did
	}
	return n, errors.Join(err, ctx.Err())
}

func (all nodes) finished() (n int64) {
	for _, node := range all {
		n += node.finished
	}
	return n
}

// take pulls one batch; none: there is none for it now.
func (n *node) take(ctx context.Context) (int, error) {
	reply, err := n.client.Pull(ctx, client.PullRequest{Queue: n.queue, Pilot: n.name, Slot: client.Slot{Cores: n.batch}, Max: n.batch, WaitS: 1})
	if errors.Is(err, client.ErrNoJobs) {
		return 0, nil
	}
	for _, l := range reply.Leases {
		n.leases = append(n.leases, l.Lease)
	}
	return len(reply.Leases), err
}

// fill takes so many jobs, or all that there are.
func (n *node) fill(ctx context.Context, most int) error {
	for n.did < most {
		got, err := n.take(ctx)
		if err != nil || got == 0 {
			return err
		}
		n.did += got
	}
	return nil
}

func (n *node) renew(ctx context.Context) error {
	for some := range slices.Chunk(n.leases, n.batch) {
		req := client.RenewRequest{Pilot: n.name}
		for _, l := range some {
			req.Leases = append(req.Leases, client.Renewal{Lease: l, State: dispatcher.Running})
		}
		reply, err := n.client.Renew(ctx, req)
		if err != nil {
			return err
		}
		if len(reply.Kept) != len(some) {
			return fmt.Errorf("%s: %d of %d leases were kept", n.name, len(reply.Kept), len(some))
		}
		n.did += len(some)
	}
	return nil
}

func (n *node) finish(ctx context.Context) error {
	for some := range slices.Chunk(n.leases, n.batch) {
		req := client.FinishRequest{Pilot: n.name}
		for _, l := range some {
			req.Results = append(req.Results, client.Result{Lease: l, Outcome: dispatcher.Finished, Usage: client.Usage{CPUSeconds: 10, MemoryMB: 900}})
		}
		reply, err := n.client.Finish(ctx, req)
		if err != nil {
			return err
		}
		for _, v := range reply.Verdicts {
			if v.Verdict != dispatcher.Recorded {
				return fmt.Errorf("%s: an end is %s", n.name, v.Verdict)
			}
		}
		n.did, n.finished = n.did+len(some), n.finished+int64(len(some))
	}
	n.leases = n.leases[:0]
	return nil
}

// live takes and ends jobs until the round is over; what it took it ends.
func (n *node) live(ctx, round context.Context) error {
	for round.Err() == nil {
		if _, err := n.take(ctx); err != nil {
			return err
		}
		if err := n.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}
