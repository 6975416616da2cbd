package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// weigh is S9: a daemon in a process of its own on the largest data set.
func weigh(ctx context.Context, r *run, s *stage.Stage) error {
	g := r.sizes.Growth
	if err := holdMore(ctx, s, g.Held); err != nil {
		return err
	}
	s.Held = g.Held
	if err := s.Measured(ctx, fmt.Sprintf("loading %d ready, %d held", s.Ready, s.Held)); err != nil {
		return err
	}
	if err := s.Unserve(ctx); err != nil {
		return err
	}
	if err := proc.MayOpen(g.Polls + 1000); err != nil {
		return err
	}
	if err := starts(ctx, r, s); err != nil {
		return err
	}
	d, err := stage.Start(ctx, s.Config.Daemon, s.Place.DSN)
	if err != nil {
		return err
	}
	if err = errors.Join(weighDaemon(ctx, r, s, d), d.Stop()); err != nil {
		return err
	}
	return s.Measured(ctx, "weighing the daemon")
}

// starts measures how long a daemon takes from its start to the first job that it hands out.
func starts(ctx context.Context, r *run, s *stage.Stage) error {
	const first, read = "from exec to the first job", "rows of jobs, ranges and leases that were read until the daemon had stopped"
	var rounds figure.Rounds
	r.Book.Command("start: divvy serve on %d ready and %d held jobs; from exec to the answer of the first POST /v1/pulls", s.Ready, s.Held)
	for i := range r.few() {
		r.Book.Say("round %d of %d: start of the daemon", i+1, r.few())
		before, err := recount.Value[int64](ctx, s.Place.Pool, query["jobs_read"])
		if err != nil {
			return err
		}
		took, err := startOnce(ctx, s, s.Plan.Queue(i))
		if err != nil {
			return err
		}
		after, err := recount.Value[int64](ctx, s.Place.Pool, query["jobs_read"]) // its connections have gone: they reported all
		if err != nil {
			return err
		}
		rounds.Add(first, "s", took.Seconds())
		rounds.Add(read, "rows", float64(after-before))
	}
	r.Book.Add(figure.AtMost("S9", "start_s", rounds.Of(first).Median, 5, rounds.Of(first), rounds.Of(read)))
	return nil
}

// startOnce starts a daemon, takes one job and stops it.
func startOnce(ctx context.Context, s *stage.Stage, queue string) (took time.Duration, err error) {
	d, err := stage.Start(ctx, s.Config.Daemon, s.Place.DSN)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	reply, err := d.Client.Pull(ctx, wire.PullRequest{Queue: queue, Pilot: "first", Slot: wire.Slot{Cores: 1}, WaitS: 60})
	took = time.Since(d.Began)
	if err != nil {
		return 0, fmt.Errorf("first pull of a daemon: %w", err)
	}
	return took, s.Took(ctx, []load.Claim{{Job: reply.Leases[0].Job, Lease: reply.Leases[0].Lease}})
}

// weighDaemon claims from the daemon's first second on, then, with the long polls open, for some rounds more, and reads what the kernel
// counted for it.
func weighDaemon(ctx context.Context, r *run, s *stage.Stage, d *stage.Process) (err error) {
	r.Book.Say("claims over HTTP, the first seconds of the daemon")
	o := s.PullOrder(d.Address(), 0)
	o.WarmUp = 0
	first, claims, err := load.Do(ctx, s.Config.Load, o)
	if err = errors.Join(err, s.Took(ctx, claims)); err != nil {
		return err
	}
	polls, err := openPolls(ctx, r, d)
	if err != nil {
		return err
	}
	defer func() { // and wait until the daemon has noticed that the connections are gone
		_, _, e := polls.Stop()
		err = errors.Join(err, e, untilPolled(context.WithoutCancel(ctx), d, func(open int) bool { return open == 0 }))
	}()
	var rounds figure.Rounds
	for i := range r.few() {
		r.Book.Say("round %d of %d: claims over HTTP, processor time of the daemon", i+1, r.few())
		before, err := d.CPU()
		if err != nil {
			return err
		}
		result, claims, err := load.Do(ctx, s.Config.Load, s.PullOrder(d.Address(), 0))
		if err != nil {
			return err
		}
		after, err := d.CPU()
		if err != nil {
			return err
		}
		if err := s.Took(ctx, claims); err != nil {
			return err
		}
		rounds.Add("processor time of the daemon a claim", "us", stage.Micros(after-before, len(claims)))
		rounds.Add("claims over HTTP", "jobs/s", result.Rate())
		rounds.Add("p99 later", "ms", result.P99)
	}
	now, peak, err := d.Memory()
	if err != nil {
		return err
	}
	cpu, later := rounds.Of("processor time of the daemon a claim"), rounds.Of("claims over HTTP")
	r.Book.Add(figure.AtMost("S9", "memory_mb", peak, 400, figure.Of("most memory that was resident", "MB", peak), figure.Of("after claims", "MB", now)),
		figure.AtMost("S9", "cpu_us_a_claim", cpu.Median, 40, cpu, later),
		figure.AtLeast("S9", "first_seconds_ratio", first.Rate()/later.Median, 0.9, figure.Of("claims over HTTP, the first seconds", "jobs/s", first.Rate()),
			figure.Of("p99 of a claim then", "ms", first.P99), rounds.Of("p99 later")))
	return nil
}

// openPolls has a load process keep long polls open, and returns when the daemon has them all.
func openPolls(ctx context.Context, r *run, d *stage.Process) (*load.Process, error) {
	n := r.sizes.Growth.Polls
	r.Book.Say("opening %d long polls", n)
	r.Book.Command("load process: %d connections long-poll at queue %s all the time", n, stage.IdleQueue)
	polls, err := load.Start(ctx, r.Config.Load, stage.IdlePolls(d.Address(), n, 300), nil)
	if err != nil {
		return nil, err
	}
	if err := untilPolled(ctx, d, func(open int) bool { return open >= n }); err != nil {
		return nil, polls.Fail(fmt.Errorf("%d long polls are not open: %w", n, err))
	}
	return polls, nil
}

// untilPolled waits until the daemon says that enough pulls wait at the idle queue.
func untilPolled(ctx context.Context, d *stage.Process, enough func(open int) bool) error {
	return stage.Until(ctx, 50*time.Millisecond, time.Minute, "not as many pulls as should wait at queue "+stage.IdleQueue, func() (bool, error) {
		q, err := d.Client.Queues().Get(ctx, stage.IdleQueue)
		return err == nil && enough(q.Waiting), err
	})
}
