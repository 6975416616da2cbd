package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// rival is another side of claims in process.
type rival interface {
	id() string
	what() string
	fill(context.Context) error                    // makes its tables
	measure(context.Context, *figure.Rounds) error // is a round
	figure(mine, slow figure.Series, all *figure.Rounds) figure.Figure
}

// inProcess is S1 and S10: they have the candidate in common.
func inProcess(ctx context.Context, r *run) error {
	var rivals []rival
	if r.chosen["S1"] {
		b, err := newPgbench(ctx, r)
		if err != nil {
			return err
		}
		defer b.remove()
		rivals = append(rivals, b)
	}
	if r.chosen["S10"] {
		rivals = append(rivals, newPanda(r))
	}
	group, inner := errgroup.WithContext(ctx)
	for _, other := range rivals {
		group.Go(func() error { return other.fill(inner) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var rounds figure.Rounds
	for i := range r.Rounds {
		for k, other := range rivals {
			if other == nil {
				continue
			}
			r.Book.Say("round %d of %d: %s", i+1, r.Rounds, other.what())
			err := other.measure(ctx, &rounds)
			if why := (*figure.Unmeasured)(nil); errors.As(err, &why) {
				r.Book.Skip(other.id(), why.Why)
				rivals[k] = nil
			} else if err != nil {
				return err
			}
		}
		r.Book.Say("round %d of %d: claims in process", i+1, r.Rounds)
		if err := claimsInProcess(ctx, r, &rounds); err != nil {
			return err
		}
		if err := r.Restore(ctx); err != nil {
			return err
		}
	}
	if err := r.Measured(ctx, "claims in process"); err != nil {
		return err
	}
	for _, other := range rivals {
		if other != nil {
			r.Book.Add(other.figure(rounds.Of("claims in process"), rounds.Of("p99 of a pull"), &rounds))
		}
	}
	return nil
}

// claimsInProcess pulls one job at a time, with all pullers over all queues, for a round.
func claimsInProcess(ctx context.Context, r *run, rounds *figure.Rounds) error {
	got := newTaken(r.Pullers)
	var n atomic.Int64
	began := time.Now().Add(r.WarmUp())
	until := began.Add(r.Round)
	var elapsed time.Duration
	effort, err := r.Effort(ctx, func() (int, error) {
		r.Profile.On()
		defer r.Profile.Off()
		got.all(func(i int, t *taken) {
			req := dispatcher.PullRequest{Queue: r.Plan.Queue(i), Pilot: fmt.Sprint("p", i), Node: fmt.Sprint("node", i/8), Slot: job.Slot{Cores: 1}, WaitS: 5}
			for k := 0; time.Now().Before(until) && n.Load() < int64(r.Enough()) && t.err == nil && ctx.Err() == nil; k++ {
				if r.RequestIDs {
					req.RequestID = fmt.Sprintf("%d-%d-%d", began.UnixNano(), i, k)
				}
				from := time.Now()
				var reply dispatcher.PullReply
				reply, t.err = r.Served.Dispatcher.Pull(ctx, req)
				if !from.Before(began) && t.err == nil {
					t.times = append(t.times, time.Since(from))
				}
				for _, l := range reply.Leases {
					t.claims = append(t.claims, load.Claim{Job: l.Job, Lease: l.Lease})
				}
				n.Add(1)
			}
		})
		elapsed = time.Since(began)
		return int(n.Load()), ctx.Err()
	})
	claims, times, err2 := got.gathered()
	if err = errors.Join(err, err2); err != nil {
		return fmt.Errorf("claims in process: %w", err)
	}
	if err := r.Took(ctx, claims); err != nil {
		return err
	}
	if len(times) == 0 {
		return figure.TooShort("no claim in process began after the warm-up of a round")
	}
	rounds.Add("claims in process", "jobs/s", float64(len(times))/elapsed.Seconds())
	rounds.Add("p99 of a pull", "ms", figure.Quantile(times, 0.99))
	rounds.Add(r.Place.Effort(), "us", effort)
	return nil
}

// taken is what one puller got.
type taken struct {
	claims []load.Claim
	times  []time.Duration // of pulls that count
	err    error
}

type takenByAll []taken

func newTaken(pullers int) takenByAll { return make(takenByAll, pullers) }

// all has all pullers pull at the same time.
func (a takenByAll) all(pull func(i int, t *taken)) {
	var all sync.WaitGroup
	for i := range a {
		all.Go(func() { pull(i, &a[i]) })
	}
	all.Wait()
}

func (a takenByAll) gathered() (claims []load.Claim, times []time.Duration, err error) {
	for _, t := range a {
		claims, times, err = append(claims, t.claims...), append(times, t.times...), errors.Join(err, t.err)
	}
	return claims, times, err
}
