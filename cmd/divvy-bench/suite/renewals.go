package suite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
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
func renewals(ctx context.Context, r *run) error {
	base := len(r.Kept)
	beside, err := newTurns(ctx, r)
	if err != nil {
		return err
	}
	var rounds figure.Rounds
	for i := range r.Rounds {
		r.Book.Say("round %d of %d: claims without renewals", i+1, r.Rounds)
		c, err := r.Claims(ctx, 0)
		if err != nil {
			return err
		}
		note(&rounds, "claims without renewals", c)
		if err := beside.round(ctx, i); err != nil {
			return err
		}
	}
	if err := beside.end(ctx, rounds.Of("claims without renewals")); err != nil {
		return err
	}
	return letGo(ctx, r.Stage, base)
}

// turns are the rounds of claims beside renewals.
type turns struct {
	r      *run
	load   load.Renewals
	leases []load.Claim
	renewed
}

// renewed is what the rounds gave.
type renewed struct {
	rounds     figure.Rounds
	latest     []float64 // of the calls, s from when it was due
	kept, lost int
}

func newTurns(ctx context.Context, r *run) (*turns, error) {
	n := r.sizes.Renewed
	if err := holdMore(ctx, r.Stage, n); err != nil {
		return nil, err
	}
	t := &turns{r: r, load: load.Renewals{Every: paced(n, renewPace), Leases: n, Slots: renewSlots, Connections: renewConnections}}
	r.Book.Command("load process: %d leases renewed every %s, %d in a call of POST /v1/leases/renew, spread evenly, over %d connections",
		n, t.load.Every, renewSlots, renewConnections)
	shuffled := slices.Clone(r.Kept)
	rand.New(rand.NewPCG(7, 7)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	t.leases = shuffled[:n]
	start := t.load // the first renewal of a lease says that its job runs, which is in the log
	start.Every = paced(n, startPace)
	r.Book.Say("%d leases begin to run", n)
	_, err := t.while(ctx, start, func() error { return stage.Pause(ctx, start.Every) })
	return t, err
}

func paced(leases, pace int) time.Duration {
	return time.Duration(leases) * time.Second / time.Duration(pace)
}

// round renews for its part of a period, so that all rounds together renew every lease once, and takes
// rounds of claims meanwhile.
func (t *turns) round(ctx context.Context, i int) error {
	r := t.r
	r.Book.Say("round %d of %d: claims beside renewals", i+1, r.Rounds)
	var claims []stage.Round
	over := time.Now().Add(t.load.Every/time.Duration(r.Rounds) + r.WarmUp())
	done, err := t.while(ctx, t.load, func() error {
		for len(claims) == 0 || time.Now().Before(over) {
			c, err := r.Claims(ctx, 0)
			if err != nil {
				return err
			}
			claims = append(claims, c)
			note(&t.rounds, "claims beside renewals", c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range claims {
		t.rounds.Add("leases renewed while jobs were claimed", "leases/s", done.Renewed.Rate(c.Began, c.Elapsed))
	}
	t.rounds.Add("p99 of a call, from when it was due", "ms", done.P99)
	t.latest = append(t.latest, done.Renewed.Latest.Seconds())
	t.load.First = done.Renewed.Next
	return nil
}

// while has pilots renew leases until do is done.
func (t *turns) while(ctx context.Context, renewing load.Renewals, do func() error) (done load.Outcome, err error) {
	l, err := load.Start(ctx, t.r.Config.Load, load.Order{Mode: load.Renew, Address: t.r.Served.Address(), Renew: renewing}, nil)
	if err != nil {
		return done, err
	}
	w := bufio.NewWriter(l.In)
	for _, c := range t.leases {
		fmt.Fprintln(w, c.Lease)
	}
	if err = w.Flush(); err == nil {
		err = do()
	}
	if err != nil {
		return done, l.Fail(err)
	}
	done, _, err = l.Stop()
	t.kept, t.lost = t.kept+done.Renewed.Kept, t.lost+done.Renewed.Lost
	return done, err
}

// end checks what was renewed, and gives the figures: the claims' ratio, the rate of renewals that it was reached under, and whether all
// were in time.
func (t *turns) end(ctx context.Context, without figure.Series) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	if err := t.r.Measured(ctx, "claims beside renewals"); err != nil {
		return err
	}
	without.Name = "claims without renewals"
	with, rates, slow := t.rounds.Of("claims beside renewals"), t.rounds.Of("leases renewed while jobs were claimed"), t.rounds.Of("p99 of a call, from when it was due")
	t.r.Book.Add(figure.AtLeast("S7", "ratio", with.Median/without.Median, 0.8, with, without),
		figure.AtLeast("S7", "renewed_per_s", rates.Median, renewTarget, rates), figure.AtMost("S7", "renewed_p99_ms", slow.Median, 10, slow),
		figure.AtMost("S7", "renewed_latest_s", slices.Max(t.latest), renewSlack.Seconds(), figure.Of("the latest call, from when it was due", "s", t.latest...)))
	return nil
}

// check checks the renewals: none lost, and the database has all that the pilots were told.
func (t *turns) check(ctx context.Context) error {
	var wrong []error
	if t.lost > 0 {
		wrong = append(wrong, fmt.Errorf("of %d renewals, %d were not kept", t.kept+t.lost, t.lost))
	}
	if err := t.r.Place.Level(ctx); err != nil {
		return err
	}
	running, err := recount.Value[int](ctx, t.r.Place.Pool, query["check_renewed"])
	if err != nil {
		return err
	}
	if want := min(t.kept, t.load.Leases); running != want {
		wrong = append(wrong, fmt.Errorf("%d leases are renewed, pilots were told %d", running, want))
	}
	if len(wrong) > 0 {
		return recount.Failed(wrong...)
	}
	t.r.Book.Checked("renewals: %d sent, all kept; %d leases are noted as running", t.kept, running)
	return nil
}

// holdMore makes jobs until n can be held beside the ready ones, and leases them.
func holdMore(ctx context.Context, s *stage.Stage, n int) error {
	more := n - len(s.Kept)
	if more <= 0 {
		return nil
	}
	s.Book.Say("generating %d jobs to be held", more)
	if err := s.Refill(ctx, more); err != nil {
		return err
	}
	return s.Hold(ctx, n)
}

// letGo finishes what is held beyond so many.
func letGo(ctx context.Context, s *stage.Stage, keep int) error {
	if len(s.Kept) == keep {
		return nil
	}
	s.Book.Say("finishing the %d jobs that were held more", len(s.Kept)-keep)
	s.Open, s.Kept = append(s.Open, s.Kept[keep:]...), s.Kept[:keep]
	return s.Finish(ctx, s.Served.Dispatcher)
}
