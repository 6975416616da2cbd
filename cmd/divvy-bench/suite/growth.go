package suite

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

// few is how many rounds what grows is measured.
func (s *stage) few() int {
	if n := s.Growth.Rounds; n > 0 {
		return min(s.Rounds, n)
	}
	return s.Rounds
}

// growthBase says whether the data set of the run is what S5 grows from.
func (s *stage) growthBase() bool { return s.Growth.From == s.Ready && s.Growth.FromHeld == s.Held }

// growthTop says whether it is the largest one, that of S9 too. It has history and more leases, which the base has
// not: S5 does not look better by it.
func (s *stage) growthTop() bool {
	return s.Brief && s.Growth.Ready == s.Ready && s.Growth.Held == s.Held
}

// scale is S5 and S9, which share the largest data set.
func (s *stage) scale(ctx context.Context, chosen selection) (err error) {
	sides := s.sides()
	large := sides[1]
	if !chosen["S5"] {
		sides = sides[1:2]
	}
	defer func() { err = errors.Join(err, s.stopSides(context.WithoutCancel(ctx), sides)) }()
	if err := s.makeSides(ctx, sides); err != nil {
		return err
	}
	if chosen["S5"] {
		if err := s.growth(ctx, sides); err != nil {
			return err
		}
	}
	if chosen["S9"] {
		if err := large.at.footprint(ctx); err != nil {
			return err
		}
	}
	for _, of := range sides {
		if of.at == s {
			err = s.goOn(ctx)
		} else {
			err = of.at.settle(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goOn makes the data set of the run ready for what comes next. A daemon that is new reads its windows first.
func (s *stage) goOn(ctx context.Context) error {
	if s.served.Stop == nil {
		if err := s.serve(ctx); err != nil {
			return err
		}
		if err := s.warm(ctx, s.pullOrder(s.address(), 0)); err != nil {
			return err
		}
	}
	return s.restore(ctx)
}

// growth is S5: the same load on the base and on each larger data set in turn.
func (s *stage) growth(ctx context.Context, sides []*side) error {
	if err := s.inTurn(ctx, sides); err != nil {
		return err
	}
	base := sides[0]
	of := newSeries("claims over HTTP, base of "+count(base.ready)+" ready", "jobs/s", base.rates)
	for _, grown := range sides[1:] {
		if err := grown.at.measured(ctx, "claims over HTTP, "+grown.name); err != nil {
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

// inTurn measures every side once a round. The base and the data set of the run go on to be used and are restored in
// the end.
func (s *stage) inTurn(ctx context.Context, sides []*side) error {
	rounds := s.few()
	for _, of := range sides {
		if err := of.at.warm(ctx, of.at.pullOrder(of.at.address(), 0)); err != nil {
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
			if of == sides[0] || of.at == s || r+1 < rounds { // nothing is claimed of the others after the last one
				if err := of.at.restore(ctx); err != nil {
					return err
				}
			}
			of.rates = append(of.rates, float64(result.Answers)/result.Elapsed.Seconds())
		}
	}
	return nil
}

// growthSetting is the growth for the report.
func (s *stage) growthSetting() string {
	g, where := s.Growth, ""
	if s.growthTop() {
		where = fmt.Sprintf(" and %d held, the data set of the run", s.Held)
	}
	return fmt.Sprintf("from %d ready, %d held: to %d ready%s; to %d held; to %d shares x %d queues; %d daemons, which also fill %d slots; %d long polls",
		g.From, g.FromHeld, g.Ready, where, g.Held, g.leaves(), g.leaves(), g.Daemons, g.Full, g.Polls)
}
