package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/report"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// outgrowNode pulls, renews and finishes many jobs at a time.
type outgrowNode struct {
	*outgrowRun
	name, queue string
	leases      []string
	did         int   // in the step under way
	finished    int64 // ever
}

type outgrowNodes []*outgrowNode

func (r *outgrowRun) newNodes() (all outgrowNodes) {
	for i := range r.Nodes {
		all = append(all, &outgrowNode{outgrowRun: r, name: fmt.Sprint("node-", i), queue: queueName(i)})
	}
	return all
}

// all has every node take a step, and counts the jobs.
func (all outgrowNodes) all(ctx context.Context, step func(*outgrowNode) error) (n int, err error) {
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

func (all outgrowNodes) finished() (n int64) {
	for _, node := range all {
		n += node.finished
	}
	return n
}

// take pulls one batch; none: there is none for it now.
func (n *outgrowNode) take(ctx context.Context) (int, error) {
	reply, err := n.daemon.client.Pull(ctx, client.PullRequest{Queue: n.queue, Pilot: n.name, Slot: client.Slot{Cores: n.Batch}, Max: n.Batch, WaitS: 1})
	if errors.Is(err, client.ErrNoJobs) {
		return 0, nil
	}
	for _, l := range reply.Leases {
		n.leases = append(n.leases, l.Lease)
	}
	return len(reply.Leases), err
}

// fill takes so many jobs, or all that there are.
func (n *outgrowNode) fill(ctx context.Context, most int) error {
	for n.did < most {
		got, err := n.take(ctx)
		if err != nil || got == 0 {
			return err
		}
		n.did += got
	}
	return nil
}

func (n *outgrowNode) renewAll(ctx context.Context) error {
	for some := range slices.Chunk(n.leases, n.Batch) {
		req := client.RenewRequest{Pilot: n.name}
		for _, l := range some {
			req.Leases = append(req.Leases, client.Renewal{Lease: l, State: dispatcher.Running})
		}
		reply, err := n.daemon.client.Renew(ctx, req)
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

func (n *outgrowNode) finishAll(ctx context.Context) error {
	for some := range slices.Chunk(n.leases, n.Batch) {
		req := client.FinishRequest{Pilot: n.name}
		for _, l := range some {
			req.Results = append(req.Results, client.Result{Lease: l, Outcome: dispatcher.Finished, Usage: client.Usage{CPUSeconds: 10, MemoryMB: 900}})
		}
		reply, err := n.daemon.client.Finish(ctx, req)
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

// readers is how many reports are read at a time.
const readers = 2

// beside is how whole lives went on in rounds.
type besideReports struct{ lives, reports, lag []float64 }

// reports has whole lives go on beside reports that are read one after the other, all the time: none, on the server, on a
// replica of it, in turn.
func (r *outgrowRun) reports(ctx context.Context) (err error) {
	r.say("copying the server for a replica")
	replica, err := r.place.startStandby(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, replica.stop()) }()
	r.command("replica: pg_basebackup -R, hot_standby_feedback=off, max_standby_streaming_delay=30s, on the same machine; " + fmt.Sprint(readers) + " connections read every report of the last day, again and again")
	r.say("a round that does not count")
	if err := r.besideRound(ctx, nil, replica, new(besideReports)); err != nil {
		return err
	}
	var none, server, away besideReports
	for round := range r.Rounds {
		for _, side := range []struct {
			what string
			at   *pgxpool.Pool
			to   *besideReports
		}{{"no reports", nil, &none}, {"reports on the server", r.place.pool, &server}, {"reports on the replica", replica.pool, &away}} {
			r.say("round %d of %d: whole lives, %s", round+1, r.Rounds, side.what)
			if err := r.besideRound(ctx, side.at, replica, side.to); err != nil {
				return err
			}
		}
	}
	if err := replica.level(ctx, r.place); err != nil {
		return err
	}
	lives := func(what string, b besideReports) Series { return newSeries("whole lives, "+what, "jobs/s", b.lives) }
	base, on, off := lives("no reports", none), lives("reports on the server", server), lives("reports on the replica", away)
	r.figure(atLeast("outgrow", "server_ratio", on.Median/base.Median, 0.8, on, base, newSeries("reports on the server", "reports/s", server.reports)))
	r.figure(atLeast("outgrow", "replica_ratio", off.Median/base.Median, 0.8, off, newSeries("reports on the replica", "reports/s", away.reports),
		newSeries("replica behind, no reports", "s", none.lag), newSeries("replica behind, reports on it", "s", away.lag)))
	return nil
}

// besideRound is one round of one side. What it uses up is made anew before it, unmeasured.
func (r *outgrowRun) besideRound(ctx context.Context, at *pgxpool.Pool, replica *standby, to *besideReports) error {
	if err := r.refill(ctx, r.gone); err != nil {
		return err
	}
	if err := replica.level(ctx, r.place); err != nil {
		return err
	}
	reading, over := context.WithCancel(ctx)
	defer over()
	var read atomic.Int64
	var group errgroup.Group
	for range readers {
		group.Go(func() error { return readReports(reading, at, &read) })
	}
	ctxRound, cancel := context.WithTimeout(ctx, r.Round)
	defer cancel()
	nodes := r.newNodes()
	began := time.Now()
	var lag float64
	var watching sync.WaitGroup
	watching.Go(func() { lag = replica.behind(ctxRound) })
	n, err := nodes.all(ctx, func(n *outgrowNode) error { return n.live(ctx, ctxRound) })
	took := time.Since(began).Seconds()
	cancel()
	over()
	watching.Wait()
	r.ended, r.gone = r.ended+nodes.finished(), n
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	to.lives, to.reports, to.lag = append(to.lives, float64(n)/took), append(to.reports, float64(read.Load())/took), append(to.lag, lag)
	return nil
}

// live takes and ends jobs until the round is over; what it took it ends.
func (n *outgrowNode) live(ctx, round context.Context) error {
	for round.Err() == nil {
		if _, err := n.take(ctx); err != nil {
			return err
		}
		if err := n.finishAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readReports reads all reports in turn until ctx ends; one that is under way then does not count.
func readReports(ctx context.Context, at *pgxpool.Pool, read *atomic.Int64) error {
	if at == nil {
		return nil
	}
	reader := report.NewReader(at)
	for {
		for _, is := range report.List() {
			_, err := reader.Run(ctx, is.Name, "", time.Now().Add(-24*time.Hour))
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			read.Add(1)
		}
	}
}

// behind is how far the standby was behind at the most until ctx ended, in seconds.
func (s *standby) behind(ctx context.Context) (most float64) {
	for wait(ctx, 100*time.Millisecond) == nil {
		var lag *float64
		if err := s.pool.QueryRow(ctx, query["standby_behind"]).Scan(&lag); err == nil && lag != nil {
			most = max(most, *lag)
		}
	}
	return most
}
