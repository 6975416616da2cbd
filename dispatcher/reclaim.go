package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// reclaimed is what Reclaim says of an attempt whose pilot did not end it in time; it is written down as revoked.
const reclaimed Outcome = "reclaimed"

const (
	// reclaimSlack goes beyond the grace: the pilot kills at its end by a clock of its own, and then has to say so.
	reclaimSlack = 5 * time.Second
	// reclaimSettle is how long units that came free count as the claimer's though it has not taken them: if for some
	// reason it cannot, not one job after the other is ended for nothing.
	reclaimSettle = time.Minute
	// mostBatches bounds what is read of a lane of grants, in batches.
	mostBatches = 2000
)

// Reclaim takes units back for shares whose plan has reclaim, and that are below their target while all slots that
// their ready jobs could have are held: it orders the fewest running jobs of others that suffice to end (see
// shares.Pool.Victims). Pilots hear of it at their next renewal, and have the grace from then on. Units stay held until
// the attempt ends; when its pilot does not end it in time, Reclaim revokes the lease. It returns how many orders it gave
// and how many leases it revoked.
//
// One daemon does it, the eldest. Orders are rows: none is given twice, whoever gave it, and rates count on over a
// restart.
func (d *Dispatcher) Reclaim(ctx context.Context) (n int, err error) {
	if len(d.Seniors()) > 0 {
		return 0, nil
	}
	var r *reclaiming
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		r = &reclaiming{d: d, tx: tx}
		if ok, err := pg.TryLock(ctx, tx, pg.LockReclaim, 0); err != nil || !ok {
			return err
		}
		return r.round(ctx)
	})
	if err != nil {
		return 0, fmt.Errorf("reclaim: %w", err)
	}
	d.metrics.reclaim.count(r)
	d.mu.Lock()
	d.state.owe(r.given, time.Now())
	d.mu.Unlock()
	revoked, err := d.revoke(ctx, r.open)
	if err != nil {
		return r.ordered, fmt.Errorf("reclaim: %w", err)
	}
	return r.ordered + revoked, nil
}

// revoke ends the leases of orders whose grace is over, unless their pilots are faster.
func (d *Dispatcher) revoke(ctx context.Context, open []openReclaim) (n int, err error) {
	var ends []ended
	for _, o := range open {
		if o.Due {
			ends = append(ends, ended{key: leaseKey{o.JobID, o.Attempt, o.Nonce}, outcome: reclaimed,
				message: "reclaimed: the grace was over and the pilot had not said how it ended"})
		}
	}
	verdicts, err := d.end(ctx, ends)
	for _, v := range verdicts {
		if v.verdict == Recorded {
			n++
		}
	}
	return n, err
}

// reclaiming is one round of Reclaim.
type reclaiming struct {
	d  *Dispatcher
	tx pgx.Tx

	open    []openReclaim
	closed  []closedReclaim
	ordered int                            // that were given
	given   map[retry.Claimer]shares.Units // by orders, and not taken by the claimer
}

type openReclaim struct {
	retry.Open
	JobID   int64
	Attempt int32
	Nonce   int64
	Due     bool // its grace is over
}

type closedReclaim struct {
	Outcome string
	Said    string
	Lost    float64 // unit-seconds
}

// round looks at the standing before the orders: one that is closed in between counts for the claimer twice rather
// than not at all.
func (r *reclaiming) round(ctx context.Context) (err error) {
	r.d.mu.Lock()
	pools := r.d.state.reclaimPools()
	r.d.mu.Unlock()
	if r.closed, err = collect[closedReclaim](ctx, r.tx, "close_reclaims", pgx.StrictNamedArgs{"n": retry.MostOpen}); err != nil {
		return err
	}
	args := pgx.StrictNamedArgs{"slack_s": reclaimSlack.Seconds(), "n": retry.MostOpen}
	if r.open, err = collect[openReclaim](ctx, r.tx, "open_reclaims", args); err != nil {
		return err
	}
	recent, err := collect[retry.Recent](ctx, r.tx, "recent_reclaims", pgx.StrictNamedArgs{"settle_s": reclaimSettle.Seconds(),
		"first": firstGrantLane, "last": firstEndLane - 1, "rows": mostBatches})
	if err != nil {
		return err
	}
	open := make([]retry.Open, len(r.open))
	for i := range r.open {
		open[i] = r.open[i].Open
	}
	round := retry.NewRound(pools, open, recent)
	r.given = round.Given
	if err := r.choose(ctx, round); err != nil {
		return err
	}
	return r.order(ctx, round.Orders)
}

// choose reads what the round has to know, ask by ask.
func (r *reclaiming) choose(ctx context.Context, round *retry.Round) error {
	if err := r.rates(ctx, round); err != nil {
		return err
	}
	for search, ok := round.Next(); ok; search, ok = round.Next() {
		queues := make([]int32, len(search.Queues))
		for i, id := range search.Queues {
			queues[i] = int32(id)
		}
		candidates, err := collect[retry.Candidate](ctx, r.tx, "reclaim_candidates", pgx.StrictNamedArgs{"claimer": int32(search.Share), "queues": queues,
			"cores": search.Cores, "min_runtime_s": time.Duration(search.Back.Terms.MinRuntime).Seconds(), "n": search.Most})
		if err != nil {
			return err
		}
		round.Choose(search, candidates)
	}
	return nil
}

type rateRow struct {
	PlanID shares.ShareID
	N      int
}

// rates tells the round what plans with a rate have ordered in its time.
func (r *reclaiming) rates(ctx context.Context, round *retry.Round) error {
	plans, times := round.Rates()
	if len(plans) == 0 {
		return nil
	}
	ids, seconds := make([]int32, len(plans)), make([]float64, len(plans))
	for i, plan := range plans {
		ids[i], seconds[i] = int32(plan), times[i].Seconds()
	}
	rows, err := collect[rateRow](ctx, r.tx, "reclaim_rates", pgx.StrictNamedArgs{"plans": ids, "pers_s": seconds})
	for _, row := range rows {
		round.Spend(row.PlanID, row.N)
	}
	return err
}

// order writes the orders. Leases that are being renewed or ended at this moment get none.
func (r *reclaiming) order(ctx context.Context, orders []retry.Order) error {
	if len(orders) == 0 {
		return nil
	}
	var jobs, nonces []int64
	var pools []string
	var claimers, plans, graces []int32
	for _, o := range orders {
		jobs, nonces, pools = append(jobs, o.JobID), append(nonces, o.Nonce), append(pools, o.Pool)
		claimers, plans = append(claimers, int32(o.Claimer)), append(plans, int32(o.Plan))
		graces = append(graces, int32(min(o.Grace.Round(time.Second)/time.Second, 1<<30)))
	}
	tag, err := r.tx.Exec(ctx, query["order_reclaims"], pgx.StrictNamedArgs{"jobs": jobs, "nonces": nonces, "pools": pools,
		"claimers": claimers, "plans": plans, "graces": graces})
	r.ordered = int(tag.RowsAffected())
	return err
}
