package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/internal/pg"
)

// side is one data set of S5.
type side struct {
	name   string
	figure string
	target float64
	ready  int
	held   int
	plan   plan
	at     *stage // where it is; nil: to be made
	rates  []float64
}

// sides are the base and what it is compared with, the largest first.
func (s *stage) sides() []*side {
	g := s.Growth
	base := &side{name: "base", ready: g.From, held: g.FromHeld, plan: basePlan}
	large := &side{name: count(g.Ready) + " ready", figure: "ready_ratio", target: 0.85, ready: g.Ready, held: g.FromHeld, plan: basePlan}
	held := &side{name: count(g.Held) + " held", figure: "held_ratio", target: 0.95, ready: g.From, held: g.Held, plan: basePlan}
	wide := &side{name: fmt.Sprintf("%d shares x %d queues", g.leaves(), g.leaves()), figure: "wide_ratio", target: 0.8,
		ready: g.From, held: g.FromHeld, plan: g.wide()}
	if s.growthBase() {
		base.at = s
	}
	if s.growthTop() {
		large.at, large.name = s, large.name+" and "+held.name
	}
	return []*side{base, large, held, wide}
}

// makeSides makes those that are not there, at the same time.
func (s *stage) makeSides(ctx context.Context, sides []*side) error {
	var group errgroup.Group // with the context of the run: daemons live longer than the group
	var made []*side
	for _, of := range sides {
		if of.at != nil {
			continue
		}
		made = append(made, of)
		s.say("a data set of %d ready and %d held jobs, %d shares, %d queues", of.ready, of.held, of.plan.tree[0]*of.plan.tree[1]*of.plan.tree[2], of.plan.queues)
		group.Go(func() (err error) {
			if of.at, err = s.beside(ctx, s.sizes(of.ready, of.held), of.plan); err != nil {
				return err
			}
			return of.at.ready(ctx)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, of := range made {
		if err := of.at.measured(ctx, fmt.Sprintf("loading %d ready, %d held, %d shares", of.ready, of.held, len(of.at.leaves))); err != nil {
			return err
		}
	}
	return s.writtenOut(ctx)
}

// writtenOut waits until what was loaded is on the disk: the data set that the others are compared with has been for
// long. On a server where we may not ask for it, it comes by itself, beside the first rounds.
func (s *stage) writtenOut(ctx context.Context) error {
	s.say("CHECKPOINT")
	_, err := s.place.pool.Exec(ctx, "CHECKPOINT")
	if pg.Code(err) == insufficientPrivilege {
		s.say("no CHECKPOINT: %v", err)
		return nil
	}
	return err
}

// insufficientPrivilege is PostgreSQL's SQLSTATE for it.
const insufficientPrivilege = "42501"

// stopSides ends those that were made.
func (s *stage) stopSides(ctx context.Context, sides []*side) error {
	errs := make([]error, len(sides))
	var all sync.WaitGroup
	for i, of := range sides {
		if of.at != nil && of.at != s {
			all.Go(func() { errs[i] = of.at.stop(ctx) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// sizes of a data set of the growth.
func (s *stage) sizes(ready, held int) Sizes {
	of := s.Sizes
	of.Ready, of.Held, of.Rounds = ready, held, s.few()
	return of
}

// beside makes another data set in a database of its own on the same server: generated, not served yet.
func (s *stage) beside(ctx context.Context, sizes Sizes, p plan) (*stage, error) {
	t := &stage{Sizes: sizes, cfg: s.cfg, report: s.report, plan: p}
	var err error
	if t.place, err = openPlace(ctx, s.place.dsn, s.cfg.Log); err != nil {
		return nil, err
	}
	if _, err := t.load(ctx); err != nil {
		return nil, errors.Join(err, t.stop(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// ready serves and leases what is to be held.
func (s *stage) ready(ctx context.Context) error {
	if err := s.serve(ctx); err != nil {
		return err
	}
	return s.hold(ctx)
}
