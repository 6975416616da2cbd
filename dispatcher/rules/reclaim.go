package rules

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

const (
	// reclaimSlack goes beyond the grace: the pilot kills at its end by a clock of its own, and then has to say so.
	reclaimSlack = 5 * time.Second
	// reclaimSettle is how long units that came free count as the claimer's though it has not taken them: if for some reason it
	// cannot, not one job after the other is ended for nothing.
	reclaimSettle = time.Minute
)

// Reclaim takes units back for shares whose plan has reclaim and that are below their targets while all slots that their ready
// jobs could have are held: it orders the fewest running jobs of others that suffice to end (see shares.Pool.Victims). Units stay
// held until the attempts end; where pilots do not end them in time, Reclaim has the leases returned. It returns how many orders
// it gave and how many leases were returned.
func (r *Rules) Reclaim(ctx context.Context) (n int, err error) {
	var pools []*retry.Snapshot
	c := reclaiming{Rules: r}
	err = r.cfg.View(ctx, func(v machine.View) {
		pools, c.tree, c.sited, c.cores = Snapshots(v, r.cfg.Offered()), v.Site.Tree, sitedIn(v.Site), widths(v)
	})
	if err != nil {
		return 0, fmt.Errorf("reclaim: %w", err)
	}
	if len(pools) > 0 || r.owed.some() {
		if err := r.cfg.Fold(ctx); err != nil { // what claimers have taken by now
			return 0, fmt.Errorf("reclaim: %w", err)
		}
	}
	fresh := c
	err = pg.InTx(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
		c = fresh
		c.tx = tx
		if ok, err := pg.TryLock(ctx, tx, pg.LockReclaim, 0); err != nil || !ok {
			return err
		}
		return c.round(ctx, pools)
	})
	if err != nil {
		return 0, fmt.Errorf("reclaim: %w", err)
	}
	if c.debts != nil {
		r.owed.keep(c.debts, time.Now())
	}
	r.count(&c)
	if len(c.due) == 0 {
		return c.ordered, nil
	}
	returned, err := r.cfg.Return(ctx, c.due)
	if err != nil {
		return c.ordered, fmt.Errorf("reclaim: leases whose pilots did not obey: %w", err)
	}
	return c.ordered + returned, nil
}

// closedOrder is one whose lease is gone.
type closedOrder struct {
	fold.Fence
	Outcome string  // a letter, as of history; empty: it is not known
	Lost    float64 // units times seconds
}

// count counts what a round did. A lease that this daemon had to return was not confirmed by its pilot.
func (r *Rules) count(c *reclaiming) {
	for _, l := range c.due {
		r.forced[l] = true
	}
	if c.ordered == 0 && len(c.closed) == 0 {
		return
	}
	r.cfg.Count(func(t *tally.Tally) {
		t.Ordered += int64(c.ordered)
		for _, o := range c.closed {
			outcome := entry.Outcome(0)
			if o.Outcome != "" {
				outcome = entry.Outcome(o.Outcome[0])
			}
			t.Close(outcome, !r.forced[o.Fence], o.Lost)
			delete(r.forced, o.Fence)
		}
	})
}

// reclaiming is one round of Reclaim.
type reclaiming struct {
	*Rules
	tx    pgx.Tx
	tree  *shares.Tree
	sited sited
	cores map[int32]int64 // by shape: of one job

	closed  []closedOrder
	due     []fold.Fence // leases whose pilots have had their grace
	ordered int
	debts   map[retry.Claimer]shares.Units // that are said by this round; nil: none are
}

// sited are queues, and the pool of each.
type sited struct {
	queues []shares.QueueID
	pools  []string
}

func sitedIn(site shares.Version) (s sited) {
	for _, q := range site.Queues {
		s.queues, s.pools = append(s.queues, q.ID), append(s.pools, q.Pool)
	}
	return s
}

// openOrder is one whose lease is still there.
type openOrder struct {
	retry.Open
	fold.Fence
	Due bool
}

// round looked at the machine before it looks at the orders: one that is closed in between counts for the claimer twice rather
// than not at all.
func (c *reclaiming) round(ctx context.Context, pools []*retry.Snapshot) error {
	var err error
	if c.closed, err = pg.Collect[closedOrder](ctx, c.tx, query["close_reclaims"], args{"n": retry.MostOpen}); err != nil {
		return err
	}
	open, err := pg.Collect[openOrder](ctx, c.tx, query["open_reclaims"], args{"told_s": (c.cfg.TTL + reclaimSlack).Seconds(), "n": retry.MostOpen})
	if err != nil {
		return err
	}
	if err := c.counted(ctx, open); err != nil {
		return err
	}
	orders := make([]retry.Open, len(open))
	for i, o := range open {
		orders[i] = o.Open
		orders[i].Cores = c.cores[o.ShapeID]
		if o.Due {
			c.due = append(c.due, o.Fence)
		}
	}
	recent, err := pg.Collect[retry.Recent](ctx, c.tx, query["recent_reclaims"], args{"settle_s": reclaimSettle.Seconds(), "queues": c.sited.queues, "pools": c.sited.pools})
	if err != nil {
		return err
	}
	round := retry.NewRound(pools, orders, recent)
	if err := c.choose(ctx, round, open); err != nil {
		return err
	}
	rows, err := c.order(ctx, round.Orders)
	if err != nil {
		return err
	}
	var said []entry.Entry
	if c.debts, said = c.owed.anew(c.tree, round.Given, time.Now()); len(said) > 0 {
		rows = append(rows, said)
	}
	return intake.Say(ctx, c.tx, rows...)
}

// counted has orders be about the shares that their leases count for now: tables have those for which they were granted.
func (c *reclaiming) counted(ctx context.Context, open []openOrder) error {
	if len(open) == 0 {
		return nil
	}
	return c.cfg.View(ctx, func(v machine.View) {
		for i := range open {
			if l, ok := v.Lease(open[i].Job); ok && l.Nonce == open[i].Nonce {
				open[i].VictimID = l.Share
			}
		}
	})
}

// planRate is how many orders a plan has given within its time.
type planRate struct {
	PlanID shares.ShareID
	N      int
}

// choose tells the round what it has to know, ask by ask.
func (c *reclaiming) choose(ctx context.Context, round *retry.Round, open []openOrder) error {
	if rates := round.Rates(); len(rates) > 0 {
		spent, err := pg.Collect[planRate](ctx, c.tx, query["reclaim_rates"], pg.Columns(rates))
		if err != nil {
			return err
		}
		for _, s := range spent {
			round.Spend(s.PlanID, s.N)
		}
	}
	return round.Choose(func(young *retry.Young) error { return c.look(ctx, young, open) })
}

// lookAtOnce is how many leases are looked at before others have a turn: some milliseconds in which the leader decides nothing.
const lookAtOnce = 20_000

// look finds what runs and was not ordered to end. The machine is asked, since tables do not know what began a moment ago. It does not know of
// orders that are on their way to it.
func (c *reclaiming) look(ctx context.Context, young *retry.Young, open []openOrder) (err error) {
	ordered := map[fold.Fence]bool{}
	for _, o := range open {
		ordered[o.Fence] = true
	}
	wanted := func(v machine.View) bool {
		for h := range v.Held() {
			if young.Wants(h.Queue, c.cores[h.Shape]) {
				return true
			}
		}
		return false
	}
	runs := 1
	for from := 0; from < runs && err == nil; from += lookAtOnce {
		err = c.cfg.View(ctx, func(v machine.View) {
			if from == 0 && !wanted(v) {
				return
			}
			var part iter.Seq[*running.Run]
			part, runs = v.Running(from, lookAtOnce)
			for l := range part {
				if cores := c.cores[l.Shape]; young.Wants(l.Queue, cores) && !ordered[fold.Fence{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}] {
					young.Add(retry.Candidate{JobID: l.Job, Attempt: l.Attempt, Nonce: l.Nonce, Age: v.Now.Sub(l.Since()),
						Running: retry.Running{QueueID: l.Queue, ShareID: l.Share, ShapeID: l.Shape, Cores: cores, Units: l.Units}})
				}
			}
		})
	}
	return err
}

// widths is how many cores a job of each shape needs that is held.
func widths(v machine.View) map[int32]int64 {
	cores := map[int32]int64{}
	for h := range v.Held() {
		if need, known := v.Shape(h.Shape); known {
			cores[h.Shape] = int64(need.Cores)
		}
	}
	return cores
}

// given is an order that was written.
type given struct {
	JobID   int64
	Attempt int32
	GraceS  int32
}

// order writes orders, and returns what the log is to say of them.
func (c *reclaiming) order(ctx context.Context, orders []retry.Order) (rows [][]entry.Entry, err error) {
	if len(orders) == 0 {
		return nil, nil
	}
	wrote, err := pg.Collect[given](ctx, c.tx, query["order_reclaims"], pg.Columns(orders))
	for _, g := range wrote {
		rows = append(rows, []entry.Entry{entry.Revoked{Job: g.JobID, Attempt: g.Attempt, Reason: Reclaimed, GraceS: g.GraceS}})
	}
	c.ordered = len(wrote)
	return rows, err
}

// owedAgain is after what time a debt is said once more. The machine forgets it some time later: nobody else would end what a
// leader has said that leads no more.
const owedAgain = 10 * time.Second

// owed is what this daemon has said that leaves come first for.
type owed struct {
	mu   sync.Mutex
	last map[retry.Claimer]shares.Units
	at   time.Time
}

// some says whether anything is owed, as far as was said.
func (o *owed) some() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.last) > 0
}

// keep notes what was said.
func (o *owed) keep(debts map[retry.Claimer]shares.Units, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.at = debts, at
}

// anew works out what is owed, of what claimers were given and have not taken, and what is to be said of it; nothing where it was
// said a short time ago.
func (o *owed) anew(tree *shares.Tree, given map[retry.Claimer]shares.Units, now time.Time) (debts map[retry.Claimer]shares.Units, said []entry.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	debts = retry.Owed(tree, given)
	if maps.Equal(debts, o.last) && now.Sub(o.at) < owedAgain {
		return nil, nil
	}
	for c, units := range debts {
		said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share, Units: units})
	}
	for c := range o.last {
		if _, still := debts[c]; !still {
			said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share})
		}
	}
	slices.SortFunc(said, func(a, b entry.Entry) int {
		x, y := a.(entry.Owed), b.(entry.Owed)
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Share, y.Share))
	})
	return debts, said
}
