package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The renewing load of S7: a million leases, each once a minute, is 16,667 a second; the pilots keep a pace of 17,000,
// so that a rate that is short of the target was not held back by them.
const (
	renewPace        = 17_000
	startPace        = 50_000
	renewTarget      = 1_000_000 / 60
	renewSlots       = 16
	renewConnections = 64
	// renewSlack is how late the defaults let a renewal be: pilots renew after 60 s, a new lease ends after 90.
	renewSlack = 30 * time.Second
)

// renewals is S7: claims with and without pilots that renew held leases beside them, in turn.
func (s *stage) renewals(ctx context.Context, _ selection) error {
	base := s.holds
	beside, err := s.newRenewTurns(ctx)
	if err != nil {
		return err
	}
	for r := range s.Rounds {
		s.say("round %d of %d: claims without renewals", r+1, s.Rounds)
		result, err := s.claimsOverHTTP(ctx, 0)
		if err != nil {
			return err
		}
		beside.got.without = append(beside.got.without, float64(result.Answers)/result.Elapsed.Seconds())
		if err := beside.round(ctx, r); err != nil {
			return err
		}
	}
	if err := beside.end(ctx); err != nil {
		return err
	}
	return s.letGo(ctx, base)
}

// renewTurns are the rounds of claims beside renewals.
type renewTurns struct {
	s      *stage
	load   renewOrder
	leases []claim
	got    renewRounds
}

// newRenewTurns holds what is to be renewed.
func (s *stage) newRenewTurns(ctx context.Context) (*renewTurns, error) {
	if err := s.holdMore(ctx, s.Renewed); err != nil {
		return nil, err
	}
	n := &renewTurns{s: s, load: renewOrder{Every: paced(s.Renewed, renewPace), Leases: s.Renewed, Slots: renewSlots, Connections: renewConnections}}
	s.command(fmt.Sprintf("load process: %d leases renewed every %s, %d in a call of POST /v1/leases/renew, spread evenly, over %d connections",
		n.load.Leases, n.load.Every, n.load.Slots, n.load.Connections))
	shuffled := slices.Clone(s.kept)
	rand.New(rand.NewPCG(7, 7)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	n.leases = shuffled[:n.load.Leases]
	start := n.load // the first renewal of a lease says that its job runs, which is in the log
	start.Every = paced(start.Leases, startPace)
	s.say("%d leases begin to run", start.Leases)
	renewed, err := s.whileRenewing(ctx, start, n.leases, func(ctx context.Context) error { return wait(ctx, start.Every) })
	n.got.kept, n.got.lost = renewed.Renewed.Kept, renewed.Renewed.Lost
	return n, err
}

func paced(leases, pace int) time.Duration {
	return time.Duration(leases) * time.Second / time.Duration(pace)
}

// round is one of them; none where there are no turns.
func (n *renewTurns) round(ctx context.Context, r int) error {
	if n == nil {
		return nil
	}
	n.s.say("round %d of %d: claims beside renewals", r+1, n.s.Rounds)
	return n.s.besideRenewals(ctx, &n.load, n.leases, &n.got)
}

// end checks what was renewed, and gives the figures.
func (n *renewTurns) end(ctx context.Context) error {
	if err := n.s.renewed(ctx, n.load, n.got); err != nil {
		return err
	}
	if err := n.s.measured(ctx, "claims beside renewals"); err != nil {
		return err
	}
	n.s.figures7(n.got)
	return nil
}

// renewRounds is what the rounds of S7 gave.
type renewRounds struct {
	without, with []float64 // jobs/s
	rates         []float64 // leases/s while the claims were taken
	slow          []float64 // p99 of a renewal, ms
	latest        []float64 // of the calls, s from when it was due
	kept, lost    int
}

// figures7 are the claims' ratio, the rate of renewals that it was reached under, and whether all were in time.
func (s *stage) figures7(got renewRounds) {
	with, without := newSeries("claims beside renewals", "jobs/s", got.with), newSeries("claims without renewals", "jobs/s", got.without)
	rates, slow := newSeries("leases renewed while jobs were claimed", "leases/s", got.rates), newSeries("p99 of a call, from when it was due", "ms", got.slow)
	s.figure(atLeast("S7", "ratio", with.Median/without.Median, 0.8, with, without))
	s.figure(atLeast("S7", "renewed_per_s", rates.Median, renewTarget, rates))
	s.figure(atMost("S7", "renewed_p99_ms", slow.Median, 10, slow))
	s.figure(atMost("S7", "renewed_latest_s", slices.Max(got.latest), renewSlack.Seconds(), newSeries("the latest call, from when it was due", "s", got.latest)))
}

// holdMore makes jobs until n can be held beside the ready ones, and leases them.
func (s *stage) holdMore(ctx context.Context, n int) error {
	more := n - s.holds
	if more <= 0 {
		return nil
	}
	s.say("generating %d jobs to be held", more)
	if err := s.refill(ctx, more); err != nil {
		return err
	}
	return s.holdUpTo(ctx, n)
}

// besideRenewals renews for its part of a period, so that all rounds together renew every lease once, and takes
// rounds of claims meanwhile.
func (s *stage) besideRenewals(ctx context.Context, load *renewOrder, leases []claim, got *renewRounds) error {
	var claims []outcome
	renewed, err := s.whileRenewing(ctx, *load, leases, func(ctx context.Context) error {
		over := time.Now().Add(load.Every/time.Duration(s.Rounds) + warmUp(s.Round))
		for len(claims) == 0 || time.Now().Before(over) {
			result, err := s.claimsOverHTTP(ctx, 0)
			if err != nil {
				return err
			}
			claims = append(claims, result)
			got.with = append(got.with, float64(result.Answers)/result.Elapsed.Seconds())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range claims {
		got.rates = append(got.rates, renewed.Renewed.rate(c.Began, c.Elapsed))
	}
	got.slow = append(got.slow, renewed.P99)
	got.latest = append(got.latest, renewed.Renewed.Latest.Seconds())
	got.kept, got.lost = got.kept+renewed.Renewed.Kept, got.lost+renewed.Renewed.Lost
	load.First = renewed.Renewed.Next
	return nil
}

// whileRenewing has pilots renew leases until do is done.
func (s *stage) whileRenewing(ctx context.Context, load renewOrder, leases []claim, do func(ctx context.Context) error) (renewed outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := s.startLoad(ctx, order{Mode: modeRenew, Address: s.address(), Renew: load})
	if err != nil {
		return renewed, err
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		renewed, err = l.read(func(claim, time.Time) {})
		ended <- err
	}()
	w := bufio.NewWriter(l.in)
	for _, c := range leases {
		fmt.Fprintln(w, c.lease)
	}
	if err = w.Flush(); err == nil {
		err = do(ctx)
	}
	if err != nil {
		cancel()
		return renewed, errors.Join(err, <-ended)
	}
	_ = l.in.Close()
	return renewed, <-ended
}

// renewed checks the renewals: none lost, and the database has all that the pilots were told.
func (s *stage) renewed(ctx context.Context, load renewOrder, got renewRounds) error {
	var wrong []error
	if got.lost > 0 {
		wrong = append(wrong, fmt.Errorf("of %d renewals, %d were not kept", got.kept+got.lost, got.lost))
	}
	if err := s.level(ctx); err != nil {
		return err
	}
	var running int
	if err := s.place.reader().QueryRow(ctx, query["check_renewed"]).Scan(&running); err != nil {
		return err
	}
	if want := min(got.kept, load.Leases); running != want {
		wrong = append(wrong, fmt.Errorf("%d leases are renewed, pilots were told %d", running, want))
	}
	if len(wrong) > 0 {
		return &CheckError{wrong}
	}
	s.report.Checks = append(s.report.Checks, fmt.Sprintf("renewals: %d sent, all kept; %d leases are noted as running", got.kept, running))
	return nil
}

// letGo finishes the leases that were held for S7 alone. That all of them still can be is another check.
func (s *stage) letGo(ctx context.Context, base int) error {
	if s.holds == base {
		return nil
	}
	s.say("finishing the %d jobs that were held more", s.holds-base)
	s.open, s.kept, s.holds = append(s.open, s.kept[base:]...), s.kept[:base], base
	return s.finish(ctx, s.served.Dispatcher)
}
