package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// daemons are processes that serve the same database.
type daemons []*stage.Process

// startDaemons starts n at the same time. On an error none is left.
func startDaemons(ctx context.Context, s *stage.Stage, n int) (daemons, error) {
	started := make(daemons, n)
	group, inner := errgroup.WithContext(ctx)
	for i := range started {
		group.Go(func() (err error) {
			started[i], err = stage.Start(ctx, s.Config.Daemon, s.Place.DSN)
			return errors.Join(err, inner.Err())
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, started.stop())
	}
	return started, nil
}

func (ds daemons) stop() error {
	errs := make([]error, len(ds))
	var all sync.WaitGroup
	for i, d := range ds {
		if d != nil {
			all.Go(func() { errs[i] = d.Stop() })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// address is that of all of them, as an order has it.
func (ds daemons) address() string {
	var list []string
	for _, d := range ds {
		list = append(list, d.Address())
	}
	return strings.Join(list, ",")
}

// together is the part of S5 with several daemons: so many processes with a part of the connections each, against one with all of them, in
// turn on the same data. Beside it, what several do for clients that stay where they are.
func together(ctx context.Context, r *run, base *stage.Stage) error {
	n := r.sizes.Growth.Daemons
	sides := []struct {
		name string
		n    int
		stay bool
	}{{"one daemon", 1, false}, {fmt.Sprintf("%d daemons", n), n, false}, {fmt.Sprintf("%d daemons, clients that stay", n), n, true}}
	r.Book.Command("daemons: divvy serve in 1 and in %d processes, %d connections in all", n, r.Pullers)
	var rounds figure.Rounds
	for i := range r.few() {
		for _, side := range sides {
			r.Book.Say("round %d of %d: claims over HTTP, %s", i+1, r.few(), side.name)
			rate, err := claimsOfDaemons(ctx, base, side.n, side.stay)
			if err != nil {
				return err
			}
			rounds.Add("claims over HTTP, "+side.name, "jobs/s", rate)
		}
	}
	if err := base.Measured(ctx, fmt.Sprintf("claims of %d daemons", n)); err != nil {
		return err
	}
	var of []figure.Series
	for _, side := range sides {
		of = append(of, rounds.Of("claims over HTTP, "+side.name))
	}
	r.Book.Add(figure.AtLeast("S5", "daemons_ratio", of[1].Median/of[0].Median, 0.95, of...))
	return nil
}

// claimsOfDaemons is one round of n daemons in place of the stage's own, which is not served then until back.
func claimsOfDaemons(ctx context.Context, s *stage.Stage, n int, stay bool) (rate float64, err error) {
	if err := errors.Join(s.Back(ctx), s.Unserve(ctx)); err != nil {
		return 0, err
	}
	started, err := startDaemons(ctx, s, n)
	if err != nil {
		return 0, err
	}
	o := s.PullOrder(started.address(), 0)
	o.Stay = stay
	var result load.Outcome
	var claims []load.Claim
	if err = s.Warm(ctx, o); err == nil {
		result, claims, err = load.Do(ctx, s.Config.Load, o)
	}
	if err = errors.Join(err, started.stop(), s.Took(ctx, claims)); err != nil {
		return 0, err
	}
	if result.Answers == 0 {
		return 0, fmt.Errorf("claims of %d daemons: the data set is too small for their warm-up", n)
	}
	return result.Rate(), nil
}

// full is a site with few slots and limits at every level: what several daemons fill to the last slot.
func (g Growth) full() stage.Plan {
	p := stage.Base
	p.Slots, p.Idle = g.Full/p.Queues, false
	// About half of what these shares would get: an inner one of the first level, one of the second, a leaf.
	p.Most = map[string]int{"a1": g.Full / 10, "a3/m4": g.Full / 15, "a2/m3/s4": g.Full / 100}
	return p
}

// fillUp is the last part of S5: several daemons fill a small site to the last slot at full speed. No hard limit is
// ever exceeded meanwhile, and when nothing moves any more every node is within its bound.
func fillUp(ctx context.Context, r *run) (err error) {
	g := r.sizes.Growth
	p := g.full()
	r.Book.Say("a site of %d slots for %d daemons to fill", p.Slots*p.Queues, g.Daemons)
	t, err := r.Beside(ctx, r.sizesOf(4*g.Full, 0), p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Stop(context.WithoutCancel(ctx))) }()
	started, err := startDaemons(ctx, t, g.Daemons)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, started.stop()) }()
	looks, err := watched(ctx, t, func() error { return fillSlots(ctx, t, started) })
	if err != nil {
		return err
	}
	version, err := t.Place.Version(ctx)
	if err != nil {
		return err
	}
	stand, err := recount.Look(ctx, t.Place.Pool, version, "default")
	if err != nil {
		return err
	}
	worst, err := stand.AtRest(g.Daemons)
	if err != nil {
		return err
	}
	if err := t.Place.Level(ctx); err != nil {
		return err
	}
	if err := t.Verify(ctx, t.Place.Pool, fmt.Sprintf("%d daemons that filled %d slots", g.Daemons, p.Slots*p.Queues), len(t.Open)); err != nil {
		return err
	}
	r.Book.Checked("limits were looked at %d times while %d daemons filled the site, and none was exceeded; at rest share %s is furthest off: %.3f held, target %.3f",
		looks, g.Daemons, worst.Path, worst.Held, worst.Target)
	r.Book.Add(figure.AtMost("S5", "off_at_rest_jobs", worst.Off(), float64(g.Daemons), figure.Of("share furthest off at rest", "jobs", worst.Off())))
	return nil
}

// fillSlots pulls on all connections until each is told that there is nothing, or no room, any more.
func fillSlots(ctx context.Context, s *stage.Stage, ds daemons) error {
	o := load.Order{Mode: load.Pull, Address: ds.address(), Duration: time.Minute, Dry: true, Stay: true}
	for i := range max(s.Pullers, len(ds)*s.Plan.Queues) { // every daemon is asked for every queue
		o.Bodies = append(o.Bodies, s.Plan.Body(i, 1, fmt.Sprint("p", i), 2, s.RequestIDs))
	}
	_, claims, err := load.Do(ctx, s.Config.Load, o)
	if err != nil {
		return err
	}
	return s.Took(ctx, claims)
}

// watched looks at the hard limits in the database again and again while do runs, and counts the looks.
func watched(ctx context.Context, s *stage.Stage, do func() error) (looks int, err error) {
	version, err := s.Place.Version(ctx)
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		held, err := recount.Holdings(ctx, s.Place.Pool)
		if err = errors.Join(err, recount.Failed(recount.OverLimits(version, held)...)); err != nil {
			return looks, errors.Join(err, <-ended)
		}
		looks++
		select {
		case err := <-ended:
			return looks, err
		case <-pause.C:
		}
	}
}

// goOn is Back for what comes next: a daemon that is new reads its windows first.
func goOn(ctx context.Context, s *stage.Stage) error {
	if s.Served.Stop == nil {
		if err := s.Serve(ctx); err != nil {
			return err
		}
		if err := s.Warm(ctx, s.PullOrder(s.Served.Address(), 0)); err != nil {
			return err
		}
	}
	return s.Restore(ctx)
}
