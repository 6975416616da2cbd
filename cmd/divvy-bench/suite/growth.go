package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
)

// Growth is how much larger the data sets of S5 and S9 are than the one that they are compared with.
type Growth struct {
	From     int    `json:"from"`      // ready jobs of the base; as many leases as its Held
	FromHeld int    `json:"from_held"` // leases of the base
	Ready    int    `json:"ready"`     // ready jobs, with the leases of the base
	Held     int    `json:"held"`      // leases, with the ready jobs of the base
	Tree     [3]int `json:"tree"`      // shares on each level, with as many queues as leaves
	Daemons  int    `json:"daemons"`   // that work together
	Full     int    `json:"full"`      // slots of a site that they fill to the last one
	Polls    int    `json:"polls"`     // long polls that are open while the daemon is weighed
	Rounds   int    `json:"rounds"`    // at the most; 0 = those of the run
}

// GrowthOf is ten times so many ready and held jobs.
func GrowthOf(ready, held int) Growth {
	g := Growth{From: ready, FromHeld: held, Ready: 10 * ready, Held: 10 * held, Daemons: 4, Full: ready / 20, Polls: ready / 100}
	switch {
	case ready >= 1_000_000:
		g.Tree = [3]int{10, 10, 10}
	case ready >= 100_000:
		g.Tree, g.Rounds = [3]int{3, 10, 10}, 1
	default:
		g.Tree = [3]int{2, 4, 5}
	}
	return g
}

// wide is the site with many shares and queues. The weights stay close, so that every leaf has jobs.
func (g Growth) wide() stage.Plan {
	p := stage.Plan{Tree: g.Tree, Cycle: 3, Slots: stage.Base.Slots, Idle: true}
	p.Queues = p.Shares()
	return p
}

// few is how many rounds what grows is measured.
func (r *run) few() int {
	if n := r.sizes.Growth.Rounds; n > 0 {
		return min(r.Rounds, n)
	}
	return r.Rounds
}

// growthBase says whether the data set of the run is what S5 grows from.
func (r *run) growthBase() bool {
	return r.sizes.Growth.From == r.Ready && r.sizes.Growth.FromHeld == r.Held
}

// growthTop says whether it is the largest one, that of S9 too. It has history and more leases, which the base has
// not: S5 does not look better by it.
func (r *run) growthTop() bool {
	return r.Brief && r.sizes.Growth.Ready == r.Ready && r.sizes.Growth.Held == r.Held
}

func (r *run) growthSetting() string {
	g, where := r.sizes.Growth, ""
	if r.growthTop() {
		where = fmt.Sprintf(" and %d held, the data set of the run", r.Held)
	}
	n := g.wide().Queues
	return fmt.Sprintf("from %d ready, %d held: to %d ready%s; to %d held; to %d shares x %d queues; %d daemons, which also fill %d slots; %d long polls",
		g.From, g.FromHeld, g.Ready, where, g.Held, n, n, g.Daemons, g.Full, g.Polls)
}

// side is one data set of S5.
type side struct {
	name   string
	figure string
	target float64
	ready  int
	held   int
	plan   stage.Plan
	at     *stage.Stage // where it is; nil: to be made
}

// sides are the base and what it is compared with, the largest first.
func (r *run) sides() []*side {
	g := r.sizes.Growth
	base := &side{name: "base", ready: g.From, held: g.FromHeld, plan: stage.Base}
	large := &side{name: count(g.Ready) + " ready", figure: "ready_ratio", target: 0.85, ready: g.Ready, held: g.FromHeld, plan: stage.Base}
	held := &side{name: count(g.Held) + " held", figure: "held_ratio", target: 0.95, ready: g.From, held: g.Held, plan: stage.Base}
	wide := &side{figure: "wide_ratio", target: 0.8, ready: g.From, held: g.FromHeld, plan: g.wide()}
	wide.name = fmt.Sprintf("%d shares x %d queues", wide.plan.Queues, wide.plan.Queues)
	if r.growthBase() {
		base.at = r.Stage
	}
	if r.growthTop() {
		large.at, large.name = r.Stage, large.name+" and "+held.name
	}
	return []*side{base, large, held, wide}
}

// sizesOf are those of a data set of the growth.
func (r *run) sizesOf(ready, held int) stage.Sizes {
	s := r.Stage.Sizes
	s.Ready, s.Held, s.Rounds = ready, held, r.few()
	return s
}

// scale is S5 and S9, which share the largest data set.
func scale(ctx context.Context, r *run) (err error) {
	sides := r.sides()
	large := sides[1]
	if !r.chosen["S5"] {
		sides = sides[1:2]
	}
	defer func() { err = errors.Join(err, stopSides(context.WithoutCancel(ctx), r, sides)) }()
	if err := makeSides(ctx, r, sides); err != nil {
		return err
	}
	if r.chosen["S5"] {
		if err := growth(ctx, r, sides); err != nil {
			return err
		}
	}
	if r.chosen["S9"] {
		if err := weigh(ctx, r, large.at); err != nil {
			return err
		}
	}
	for _, of := range sides {
		if of.at == r.Stage {
			err = goOn(ctx, r.Stage)
		} else {
			err = of.at.Settle(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeSides makes those that are not there, at the same time.
func makeSides(ctx context.Context, r *run, sides []*side) error {
	var group errgroup.Group // with the context of the run: daemons live longer than the group
	var made []*side
	for _, of := range sides {
		if of.at != nil {
			continue
		}
		made = append(made, of)
		r.Book.Say("a data set of %d ready and %d held jobs, %d shares, %d queues", of.ready, of.held, of.plan.Shares(), of.plan.Queues)
		group.Go(func() (err error) {
			if of.at, err = r.Beside(ctx, r.sizesOf(of.ready, of.held), of.plan); err != nil {
				return err
			}
			if err := of.at.Serve(ctx); err != nil {
				return err
			}
			return of.at.Hold(ctx, of.held)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, of := range made {
		if err := of.at.Measured(ctx, fmt.Sprintf("loading %d ready, %d held, %d shares", of.ready, of.held, of.plan.Shares())); err != nil {
			return err
		}
	}
	return writtenOut(ctx, r)
}

// writtenOut waits until what was loaded is on the disk: the data set that the others are compared with has been for
// long. On a server where we may not ask for it, it comes by itself, beside the first rounds.
func writtenOut(ctx context.Context, r *run) error {
	const insufficientPrivilege = "42501" // SQLSTATE
	r.Book.Say("CHECKPOINT")
	_, err := r.Place.Pool.Exec(ctx, "CHECKPOINT")
	if pg.Code(err) == insufficientPrivilege {
		r.Book.Say("no CHECKPOINT: %v", err)
		return nil
	}
	return err
}

// stopSides ends those that were made.
func stopSides(ctx context.Context, r *run, sides []*side) error {
	errs := make([]error, len(sides))
	var all sync.WaitGroup
	for i, of := range sides {
		if of.at != nil && of.at != r.Stage {
			all.Go(func() { errs[i] = of.at.Stop(ctx) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// growth is S5: the same load on the base and on each larger data set in turn.
func growth(ctx context.Context, r *run, sides []*side) error {
	base := sides[0]
	base.name += " of " + count(base.ready) + " ready"
	var rounds figure.Rounds
	if err := inTurn(ctx, r, sides, &rounds); err != nil {
		return err
	}
	of := rounds.Of("claims over HTTP, " + base.name)
	for _, grown := range sides[1:] {
		if err := grown.at.Measured(ctx, "claims over HTTP, "+grown.name); err != nil {
			return err
		}
		series := rounds.Of("claims over HTTP, " + grown.name)
		r.Book.Add(figure.AtLeast("S5", grown.figure, series.Median/of.Median, grown.target, series, of))
	}
	if err := together(ctx, r, base.at); err != nil {
		return err
	}
	return fillUp(ctx, r)
}

// inTurn measures every side once a round. The base and the data set of the run go on to be used and are restored in
// the end.
func inTurn(ctx context.Context, r *run, sides []*side, rounds *figure.Rounds) error {
	few := r.few()
	for _, of := range sides {
		if err := of.at.Warm(ctx, of.at.PullOrder(of.at.Served.Address(), 0)); err != nil {
			return err
		}
	}
	for i := range few {
		for _, of := range sides {
			r.Book.Say("round %d of %d: claims over HTTP, %s", i+1, few, of.name)
			c, err := of.at.ClaimsLeftOpen(ctx, 0)
			if err != nil {
				return err
			}
			if of == sides[0] || of.at == r.Stage || i+1 < few { // nothing is claimed of the others after the last one
				if err := of.at.Restore(ctx); err != nil {
					return err
				}
			}
			note(rounds, "claims over HTTP, "+of.name, c)
		}
	}
	return nil
}
