package stage

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
)

// Round is what a round of load came to.
type Round struct {
	load.Outcome
	Effort float64 // processor time of divvy and PostgreSQL for each of All, us
}

// Effort is the processor time that n claims take, until all of them is in the tables, in us each.
func (s *Stage) Effort(ctx context.Context, claim func() (n int, err error)) (float64, error) {
	before := s.Place.Used()
	n, err := claim()
	if err != nil {
		return 0, err
	}
	if err := s.Place.Level(ctx); err != nil {
		return 0, err
	}
	spent := s.Place.Used().Since(before)
	return Micros(spent.Own+spent.Postgres, n), nil
}

// round runs a load process, whose every answer has a lease, with what it costs.
func (s *Stage) round(ctx context.Context, o load.Order) (r Round, claims []load.Claim, err error) {
	r.Effort, err = s.Effort(ctx, func() (n int, err error) {
		r.Outcome, claims, err = load.Do(ctx, s.Config.Load, o)
		return r.All, err
	})
	if err == nil && r.All != len(claims) {
		err = recount.Failedf("%d answers with %d leases", r.All, len(claims))
	}
	return r, claims, err
}

// PullOrder is claims on all connections for a round; with a rate, so many a second.
func (s *Stage) PullOrder(address string, rate float64) load.Order {
	o := load.Order{Mode: load.Pull, Address: address, WarmUp: s.WarmUp(), Duration: s.Round, Rate: rate, Most: s.Enough()}
	for i := range s.Pullers {
		o.Bodies = append(o.Bodies, s.Plan.Body(i, 1, fmt.Sprint("p", i), 5, s.RequestIDs))
	}
	return o
}

// Warm claims until every connection has had some answers: what a daemon must read first is behind it then.
func (s *Stage) Warm(ctx context.Context, o load.Order) error {
	o.Most = min(o.Most/3, 20*s.Pullers)
	_, claims, err := load.Do(ctx, s.Config.Load, o)
	if err != nil {
		return err
	}
	return s.Took(ctx, claims)
}

// Claims is one round of claims over HTTP, checked, and the data set restored.
func (s *Stage) Claims(ctx context.Context, rate float64) (Round, error) {
	r, err := s.ClaimsLeftOpen(ctx, rate)
	if err != nil {
		return r, err
	}
	return r, s.Restore(ctx)
}

// ClaimsLeftOpen is the same with the claims left open.
func (s *Stage) ClaimsLeftOpen(ctx context.Context, rate float64) (Round, error) {
	s.Profile.On()
	r, claims, err := s.round(ctx, s.PullOrder(s.Served.Address(), rate))
	s.Profile.Off()
	if err != nil {
		return r, err
	}
	if err := s.Took(ctx, claims); err != nil {
		return r, err
	}
	if r.Answers == 0 {
		return r, figure.TooShort("no claim over HTTP began after the warm-up of a round")
	}
	return r, nil
}

// LifeOrder is whole lives for a round with so many renewals each, by four times fewer pilots than there are pullers elsewhere, with four times
// as many jobs. With 64 of them about a thousand jobs are held at a time, half of what River's workers hold.
func (s *Stage) LifeOrder(renews int) load.Order {
	o := load.Order{Mode: load.Life, Address: s.Served.Address(), WarmUp: s.WarmUp(), Duration: s.Round, Most: s.Enough(), Renews: renews}
	for i := range max(1, s.Pullers/4) {
		name := fmt.Sprint("life-", i)
		o.Bodies, o.Pilots = append(o.Bodies, s.Plan.Body(i, load.Slots, name, 5, s.RequestIDs)), append(o.Pilots, name)
	}
	return o
}

// Lives is a round of whole lives over HTTP until all of it is in the tables, checked.
func (s *Stage) Lives(ctx context.Context, renews int) (Round, error) {
	r, claims, err := s.round(ctx, s.LifeOrder(renews))
	if err != nil {
		return r, err
	}
	return r, s.given(ctx, claims, "check_finished", "are recorded as finished by their first attempt")
}

// LifeRound is a round of lives that are renewed once, with the data set restored.
func (s *Stage) LifeRound(ctx context.Context) (Round, error) {
	r, err := s.Lives(ctx, 1)
	if err != nil {
		return r, err
	}
	if r.Answers == 0 || r.Elapsed <= 0 {
		return r, figure.TooShort("no whole life over HTTP began after the warm-up of a round")
	}
	return r, s.Replace(ctx, r.All)
}
