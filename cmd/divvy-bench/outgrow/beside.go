package outgrow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/report"
)

// readers is how many reports are read at a time.
const readers = 2

// side is where reports are read beside whole lives.
type side struct {
	what string
	at   *pgxpool.Pool // nil: nowhere
}

// reports has whole lives go on beside reports that are read one after the other, all the time: none, on the server, on a
// replica of it, in turn.
func (r *run) reports(ctx context.Context) (err error) {
	r.Book.Say("copying the server for a replica")
	replica, err := startStandby(ctx, r.Place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, replica.stop()) }()
	r.Book.Command("replica: pg_basebackup -R, hot_standby_feedback=off, max_standby_streaming_delay=30s, on the same machine; %d connections read every report of the last day, again and again", readers)
	none, server, away := side{"no reports", nil}, side{"reports on the server", r.Place.Pool}, side{"reports on the replica", replica.pool}
	r.Book.Say("a round that does not count")
	if err := r.beside(ctx, none, replica, new(figure.Rounds)); err != nil {
		return err
	}
	var rounds figure.Rounds
	for round := range r.sizes.Rounds {
		for _, side := range []side{none, server, away} {
			r.Book.Say("round %d of %d: whole lives, %s", round+1, r.sizes.Rounds, side.what)
			if err := r.beside(ctx, side, replica, &rounds); err != nil {
				return err
			}
		}
	}
	if err := replica.level(ctx, r.Place.Pool); err != nil {
		return err
	}
	base, on, off := rounds.Of("whole lives, no reports"), rounds.Of("whole lives, reports on the server"), rounds.Of("whole lives, reports on the replica")
	r.Book.Add(figure.AtLeast("outgrow", "server_ratio", on.Median/base.Median, 0.8, on, base, rounds.Of("reports on the server")),
		figure.AtLeast("outgrow", "replica_ratio", off.Median/base.Median, 0.8, off, rounds.Of("reports on the replica"),
			rounds.Of("replica behind, no reports"), rounds.Of("replica behind, reports on the replica")))
	return nil
}

// beside is one round of one side. What it uses up is made anew before it, unmeasured.
func (r *run) beside(ctx context.Context, side side, replica *standby, rounds *figure.Rounds) error {
	if err := r.Replace(ctx, r.gone); err != nil {
		return err
	}
	if err := replica.level(ctx, r.Place.Pool); err != nil {
		return err
	}
	reading, over := context.WithCancel(ctx)
	defer over()
	var read atomic.Int64
	var group errgroup.Group
	if side.at != nil {
		for range readers {
			group.Go(func() error { return readReports(reading, side.at, &read) })
		}
	}
	round, cancel := context.WithTimeout(ctx, r.sizes.Round)
	defer cancel()
	lag := make(chan float64, 1)
	go func() { lag <- replica.behind(round) }()
	all := r.newNodes()
	began := time.Now()
	n, err := all.all(ctx, func(n *node) error { return n.live(ctx, round) })
	took := time.Since(began).Seconds()
	cancel()
	over()
	rounds.Add("replica behind, "+side.what, "s", <-lag)
	r.ended, r.gone = r.ended+all.finished(), n
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	rounds.Add("whole lives, "+side.what, "jobs/s", float64(n)/took)
	rounds.Add(side.what, "reports/s", float64(read.Load())/took)
	return nil
}

// readReports reads all reports in turn until ctx ends; one that is under way then does not count.
func readReports(ctx context.Context, at *pgxpool.Pool, read *atomic.Int64) error {
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
	for stage.Pause(ctx, 100*time.Millisecond) == nil {
		var lag *float64
		if err := s.pool.QueryRow(ctx, query["standby_behind"]).Scan(&lag); err == nil && lag != nil {
			most = max(most, *lag)
		}
	}
	return most
}

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
	reply, err := n.client.Pull(ctx, wire.PullRequest{Queue: n.queue, Pilot: n.name, Slot: wire.Slot{Cores: n.batch}, Max: n.batch, WaitS: 1})
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
		req := wire.RenewRequest{Pilot: n.name}
		for _, l := range some {
			req.Leases = append(req.Leases, wire.Renewal{Lease: l, State: wire.Running})
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
		req := wire.FinishRequest{Pilot: n.name}
		for _, l := range some {
			req.Results = append(req.Results, wire.Result{Lease: l, Outcome: wire.Finished, Usage: wire.Usage{CPUSeconds: 10, MemoryMB: 900}})
		}
		reply, err := n.client.Finish(ctx, req)
		if err != nil {
			return err
		}
		for _, v := range reply.Verdicts {
			if v.Verdict != wire.Recorded {
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
