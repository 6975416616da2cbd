package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// enough is the part of the ready jobs that one round may take: the data set should not run dry.
const enough = 0.6

// inProcess is S1 and S10: they have the candidate in common.
func (s *stage) inProcess(ctx context.Context, chosen selection) (err error) {
	var p peers
	if chosen["S1"] {
		if p.floor, err = s.newPgbench(ctx); err != nil {
			return err
		}
		defer p.floor.remove()
	}
	if chosen["S10"] {
		p.old = s.newPanda()
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	var claims, slow, efforts []float64
	for r := range s.Rounds {
		if err := p.round(ctx, s, r); err != nil {
			return err
		}
		s.say("round %d of %d: claims in process", r+1, s.Rounds)
		got, err := s.claims(ctx)
		if err != nil {
			return err
		}
		claims, slow, efforts = append(claims, got.rate), append(slow, got.p99), append(efforts, got.effort)
		if err := s.restore(ctx); err != nil {
			return err
		}
	}
	if err := s.measured(ctx, "claims in process"); err != nil {
		return err
	}
	mine := []Series{newSeries("claims in process", "jobs/s", claims), newSeries("p99 of a pull", "ms", slow)}
	if p.floor != nil {
		f := newSeries("pgbench, one claim a transaction", "jobs/s", p.floors)
		s.figure(atLeast("S1", "ratio", mine[0].Median/f.Median, 6, append(mine, f, newSeries("processor time of pgbench and PostgreSQL a claim", "us", p.efforts))...).with(s.effort(efforts)))
	}
	if p.old != nil {
		f := newSeries("PanDA's way", "jobs/s", p.pandas)
		s.figure(atLeast("S10", "ratio", mine[0].Median/f.Median, 1000, append(mine, f, newSeries("p99 of PanDA's way", "ms", p.slow))...))
	}
	return nil
}

// peers are the other sides of claims in process, those that are measured, and what they reached.
type peers struct {
	floor   *pgbench
	old     *panda
	floors  []float64
	efforts []float64 // processor time of pgbench and PostgreSQL a claim, us
	pandas  []float64
	slow    []float64 // p99 of the latter
}

// fill makes their tables, at the same time.
func (p *peers) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if p.floor != nil {
		group.Go(func() error { return p.floor.fill(ctx) })
	}
	if p.old != nil {
		group.Go(func() error { return p.old.fill(ctx) })
	}
	return group.Wait()
}

// round is one of each.
func (p *peers) round(ctx context.Context, s *stage, r int) error {
	if p.floor != nil {
		s.say("round %d of %d: pgbench", r+1, s.Rounds)
		rate, effort, err := p.floor.measure(ctx)
		if why := (*unmeasured)(nil); errors.As(err, &why) {
			s.skip("S1", why.why)
			p.floor = nil
		} else if err != nil {
			return err
		}
		p.floors, p.efforts = append(p.floors, rate), append(p.efforts, effort)
	}
	if p.old != nil {
		s.say("round %d of %d: PanDA's way", r+1, s.Rounds)
		rate, p99, err := p.old.measure(ctx)
		if why := (*unmeasured)(nil); errors.As(err, &why) {
			s.skip("S10", why.why)
			p.old = nil
		} else if err != nil {
			return err
		}
		p.pandas, p.slow = append(p.pandas, rate), append(p.slow, p99)
	}
	return nil
}

// warmUp precedes a round of claims and does not count: pgbench does not count its connections either.
func warmUp(round time.Duration) time.Duration { return min(round/4, time.Second) }

// claimed is what a round of claims in process gave.
type claimed struct {
	rate   float64 // jobs/s
	p99    float64 // of a pull, ms
	effort float64 // processor time of divvy and PostgreSQL a claim, us
}

// claims pulls one job at a time, with all pullers over all queues, for a round.
func (s *stage) claims(ctx context.Context) (c claimed, err error) {
	results := make([]pulled, s.Pullers)
	var n atomic.Int64
	most := int64(enough * float64(s.Ready))
	s.profile.On()
	before := s.used()
	began := time.Now().Add(warmUp(s.Round))
	until := began.Add(s.Round)
	var all sync.WaitGroup
	for i := range results {
		results[i].from = began
		all.Go(func() {
			req := dispatcher.PullRequest{Queue: queueName(i), Pilot: fmt.Sprint("p", i), Node: fmt.Sprint("node", i/8),
				Slot: job.Slot{Cores: 1}, WaitS: 5}
			for k := 0; time.Now().Before(until) && n.Load() < most && results[i].err == nil && ctx.Err() == nil; k++ {
				if s.RequestIDs {
					req.RequestID = fmt.Sprintf("%d-%d-%d", began.UnixNano(), i, k)
				}
				results[i].pull(ctx, s.served.Dispatcher, req)
				n.Add(1)
			}
		})
	}
	all.Wait()
	elapsed := time.Since(began)
	s.profile.Off()
	if err := s.level(ctx); err != nil {
		return c, err
	}
	spent := s.used().since(before)
	claims, times, err := gather(results)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return c, fmt.Errorf("claims in process: %w", err)
	}
	if err := s.took(ctx, claims); err != nil {
		return c, err
	}
	if len(times) == 0 {
		return c, &unmeasured{"no claim in process began after the warm-up of a round: " + tooShort}
	}
	return claimed{float64(len(times)) / elapsed.Seconds(), quantile(times, 0.99), micros(spent.own+spent.postgres, len(claims))}, nil
}

// pulled is what one puller got.
type pulled struct {
	from   time.Time // pulls before it are the warm-up
	claims []claim
	times  []time.Duration // of pulls that count
	err    error
}

func (p *pulled) pull(ctx context.Context, d *dispatcher.Dispatcher, req dispatcher.PullRequest) {
	began := time.Now()
	reply, err := d.Pull(ctx, req)
	if !began.Before(p.from) && err == nil {
		p.times = append(p.times, time.Since(began))
	}
	p.err = err
	for _, l := range reply.Leases {
		p.claims = append(p.claims, claim{l.Job, l.Lease})
	}
}

func gather(from []pulled) (claims []claim, times []time.Duration, err error) {
	for _, p := range from {
		claims, times, err = append(claims, p.claims...), append(times, p.times...), errors.Join(err, p.err)
	}
	return claims, times, err
}
