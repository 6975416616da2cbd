package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// daemons are processes that serve the same database.
type daemons []*process

// startDaemons starts n at the same time. On an error none is left.
func (s *stage) startDaemons(ctx context.Context, n int) (daemons, error) {
	started := make(daemons, n)
	group, inner := errgroup.WithContext(ctx)
	for i := range started {
		group.Go(func() (err error) {
			started[i], err = s.startDaemon(ctx)
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
			all.Go(func() { errs[i] = d.stop() })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// address is that of all of them, as an order has it.
func (ds daemons) address() string {
	var list []string
	for _, d := range ds {
		list = append(list, d.address())
	}
	return strings.Join(list, ",")
}

// together is the part of S5 with several daemons: so many processes with a part of the connections each, against one with all of them, in
// turn on the same data. Beside it, what several do for clients that stay where they are.
func (s *stage) together(ctx context.Context) error {
	n := s.Growth.Daemons
	sides := []struct {
		name  string
		n     int
		stay  bool
		rates []float64
	}{{"one daemon", 1, false, nil}, {fmt.Sprintf("%d daemons", n), n, false, nil}, {fmt.Sprintf("%d daemons, clients that stay", n), n, true, nil}}
	s.command(fmt.Sprintf("daemons: divvy serve in 1 and in %d processes, %d connections in all", n, s.Pullers))
	for r := range s.few() {
		for i := range sides {
			side := &sides[i]
			s.say("round %d of %d: claims over HTTP, %s", r+1, s.few(), side.name)
			rate, err := s.claimsOfDaemons(ctx, side.n, side.stay)
			if err != nil {
				return err
			}
			side.rates = append(side.rates, rate)
		}
	}
	if err := s.measured(ctx, fmt.Sprintf("claims of %d daemons", n)); err != nil {
		return err
	}
	var of []Series
	for _, side := range sides {
		of = append(of, newSeries("claims over HTTP, "+side.name, "jobs/s", side.rates))
	}
	s.figure(atLeast("S5", "daemons_ratio", of[1].Median/of[0].Median, 0.95, of...))
	return nil
}

// claimsOfDaemons is one round of n daemons in place of the stage's own, which is not served then until back.
func (s *stage) claimsOfDaemons(ctx context.Context, n int, stay bool) (rate float64, err error) {
	if err := errors.Join(s.back(ctx), s.unserve(ctx)); err != nil {
		return 0, err
	}
	started, err := s.startDaemons(ctx, n)
	if err != nil {
		return 0, err
	}
	o := s.pullOrder(started.address(), 0)
	o.Stay = stay
	var result outcome
	var claims []claim
	if err = s.warm(ctx, o); err == nil {
		result, claims, err = s.runLoad(ctx, o)
	}
	if err = errors.Join(err, started.stop(), s.took(ctx, claims)); err != nil {
		return 0, err
	}
	if result.Answers == 0 {
		return 0, fmt.Errorf("claims of %d daemons: the data set is too small for their warm-up", n)
	}
	return float64(result.Answers) / result.Elapsed.Seconds(), nil
}

// warm claims until every connection has had some answers: what a daemon must read first is behind it then.
func (s *stage) warm(ctx context.Context, o order) error {
	o.Most = min(o.Most/3, 20*s.Pullers)
	_, claims, err := s.runLoad(ctx, o)
	if err != nil {
		return err
	}
	return s.took(ctx, claims)
}

// full is a site with few slots and limits at every level: what several daemons fill to the last slot.
func (g Growth) full() plan {
	p := plan{tree: basePlan.tree, cycle: basePlan.cycle, queues: basePlan.queues, slots: g.Full / basePlan.queues}
	// About half of what these shares would get: an inner one of the first level, one of the second, a leaf.
	p.most = map[string]int{"a1": g.Full / 10, "a3/m4": g.Full / 15, "a2/m3/s4": g.Full / 100}
	return p
}

// fillUp is the last part of S5: several daemons fill a small site to the last slot at full speed. No hard limit is
// ever exceeded meanwhile, and when nothing moves any more every node is within its bound.
func (s *stage) fillUp(ctx context.Context) (err error) {
	g := s.Growth
	p := g.full()
	s.say("a site of %d slots for %d daemons to fill", p.slots*p.queues, g.Daemons)
	t, err := s.beside(ctx, s.sizes(4*g.Full, 0), p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop(context.WithoutCancel(ctx))) }()
	started, err := t.startDaemons(ctx, g.Daemons)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, started.stop()) }()
	looks := 0
	if err := t.watched(ctx, &looks, func() error { return t.fillSlots(ctx, started) }); err != nil {
		return err
	}
	worst, err := t.atRest(ctx, "default", g.Daemons)
	if err != nil {
		return err
	}
	if err := t.verify(ctx, fmt.Sprintf("%d daemons that filled %d slots", g.Daemons, p.slots*p.queues)); err != nil {
		return err
	}
	s.report.Checks = append(s.report.Checks, fmt.Sprintf(
		"limits were looked at %d times while %d daemons filled the site, and none was exceeded; at rest share %s is furthest off: %.3f held, target %.3f",
		looks, g.Daemons, worst.path, worst.held, worst.target))
	s.figure(atMost("S5", "off_at_rest_jobs", worst.off(), float64(g.Daemons), newSeries("share furthest off at rest", "jobs", []float64{worst.off()})))
	return nil
}

// fillSlots pulls on all connections until each is told that there is nothing, or no room, any more.
func (s *stage) fillSlots(ctx context.Context, ds daemons) error {
	o := order{Mode: modePull, Address: ds.address(), Duration: time.Minute, Dry: true, Stay: true}
	for i := range max(s.Pullers, len(ds)*s.layout().queues) { // every daemon is asked for every queue
		o.Bodies = append(o.Bodies, s.bodyThatWaits(i, 2))
	}
	_, claims, err := s.runLoad(ctx, o)
	if err != nil {
		return err
	}
	return s.took(ctx, claims)
}

// watched looks at the hard limits in the database again and again while do runs, and counts the looks.
func (s *stage) watched(ctx context.Context, looks *int, do func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		wrong, err := s.limits(ctx)
		if err == nil && len(wrong) > 0 {
			err = &CheckError{wrong}
		}
		if err != nil {
			cancel()
			return errors.Join(err, <-ended)
		}
		*looks++
		select {
		case err := <-ended:
			return err
		case <-pause.C:
		}
	}
}
