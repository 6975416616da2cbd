package bench

import (
	"context"
	"errors"
	"fmt"
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

// leaves is how many there are of shares that get jobs, and of queues.
func (g Growth) leaves() int { return g.Tree[0] * g.Tree[1] * g.Tree[2] }

// wide is the site with many shares and queues. The weights stay close, so that every leaf has jobs.
func (g Growth) wide() plan {
	return plan{tree: g.Tree, cycle: 3, queues: g.leaves(), slots: basePlan.slots, idle: true}
}

// sizes of a data set of the growth.
func (s *stage) sizes(ready, held int) Sizes {
	of := s.Sizes
	of.Ready, of.Held = ready, held
	if n := s.Growth.Rounds; n > 0 {
		of.Rounds = min(of.Rounds, n)
	}
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
	if err := s.hold(ctx); err != nil {
		return err
	}
	return s.verify(ctx, fmt.Sprintf("loading %d ready, %d held, %d shares", s.Ready, s.Held, len(s.leaves)))
}

// side is one data set of S5.
type side struct {
	name   string
	figure string
	target float64
	at     *stage
	rates  []float64
}

// scale is S5 and S9, which share the largest data set.
func (s *stage) scale(ctx context.Context, chosen selection) (err error) {
	var made []*stage
	defer func() {
		for _, t := range made {
			err = errors.Join(err, t.stop(context.WithoutCancel(ctx)))
		}
	}()
	another := func(ready, held int, p plan) (*stage, error) {
		s.say("a data set of %d ready and %d held jobs, %d shares, %d queues", ready, held, p.tree[0]*p.tree[1]*p.tree[2], p.queues)
		t, err := s.beside(ctx, s.sizes(ready, held), p)
		if err != nil {
			return nil, err
		}
		made = append(made, t)
		return t, t.ready(ctx)
	}
	g := s.Growth
	large, err := another(g.Ready, g.FromHeld, basePlan)
	if err != nil {
		return err
	}
	if chosen["S5"] {
		if err := s.growth(ctx, large, another); err != nil {
			return err
		}
	}
	if chosen["S9"] {
		return large.footprint(ctx)
	}
	return nil
}

// growthBase says whether the data set of the run is what S5 grows from.
func (s *stage) growthBase() bool { return s.Growth.From == s.Ready && s.Growth.FromHeld == s.Held }

// growth is S5: the same load on the base and on each larger data set in turn.
func (s *stage) growth(ctx context.Context, large *stage, another func(ready, held int, p plan) (*stage, error)) error {
	g := s.Growth
	base := &side{name: "base", at: s}
	sides := []*side{base,
		{name: fmt.Sprintf("%s ready", count(g.Ready)), figure: "ready_ratio", target: 0.85, at: large},
		{name: fmt.Sprintf("%s held", count(g.Held)), figure: "held_ratio", target: 0.95},
		{name: fmt.Sprintf("%d shares x %d queues", g.leaves(), g.leaves()), figure: "wide_ratio", target: 0.8}}
	var err error
	if !s.growthBase() {
		if base.at, err = another(g.From, g.FromHeld, basePlan); err != nil {
			return err
		}
	}
	if sides[2].at, err = another(g.From, g.Held, basePlan); err != nil {
		return err
	}
	if sides[3].at, err = another(g.From, g.FromHeld, g.wide()); err != nil {
		return err
	}
	if err := s.inTurn(ctx, sides); err != nil {
		return err
	}
	of := newSeries("claims over HTTP, base of "+count(g.From)+" ready", "jobs/s", base.rates)
	for _, grown := range sides[1:] {
		if err := grown.at.verify(ctx, "claims over HTTP, "+grown.name); err != nil {
			return err
		}
		series := newSeries("claims over HTTP, "+grown.name, "jobs/s", grown.rates)
		s.figure(atLeast("S5", grown.figure, series.Median/of.Median, grown.target, series, of))
	}
	if err := base.at.together(ctx); err != nil {
		return err
	}
	return s.fillUp(ctx)
}

// inTurn measures every side once a round. The first one, the base, goes on to be used and is restored in the end.
func (s *stage) inTurn(ctx context.Context, sides []*side) error {
	rounds := sides[0].at.Rounds
	for _, of := range sides {
		if err := of.at.warm(ctx, of.at.address()); err != nil {
			return err
		}
	}
	for r := range rounds {
		for _, of := range sides {
			s.say("round %d of %d: claims over HTTP, %s", r+1, rounds, of.name)
			result, err := of.at.claimsServed(ctx, 0)
			if err != nil {
				return err
			}
			if of == sides[0] || r+1 < rounds { // nothing is claimed of the others after the last one
				if err := of.at.restore(ctx); err != nil {
					return err
				}
			}
			of.rates = append(of.rates, float64(result.Answers)/result.Elapsed.Seconds())
		}
	}
	return nil
}

// setting is the growth for the report.
func (g Growth) setting() string {
	return fmt.Sprintf("from %d ready, %d held: to %d ready; to %d held; to %d shares x %d queues; %d daemons, which also fill %d slots; %d long polls",
		g.From, g.FromHeld, g.Ready, g.Held, g.leaves(), g.leaves(), g.Daemons, g.Full, g.Polls)
}
