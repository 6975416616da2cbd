package dispatcher

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// choose finds the victims of all asks, whoever is furthest below its target first.
func (r *reclaiming) choose(ctx context.Context, pools []*reclaimPool) error {
	left, err := r.rates(ctx, pools)
	if err != nil {
		return err
	}
	for _, st := range pools {
		targets := st.book.Targets(st.r)
		short := func(a ask) float64 { return targets[a.back.Leaf] - float64(st.book.Held(a.back.Leaf)) }
		slices.SortStableFunc(st.asks, func(a, b ask) int { return cmp.Compare(short(b), short(a)) })
		for _, a := range st.asks {
			most := mostOrders - len(r.orders)
			if n, limited := left[a.plan]; limited {
				most = min(most, n)
			}
			n, err := r.serve(ctx, st, a, most)
			if err != nil {
				return err
			}
			if _, limited := left[a.plan]; limited {
				left[a.plan] -= n
			}
		}
	}
	return nil
}

type rateRow struct {
	PlanID shares.ShareID
	N      int
}

// rates is how many orders each plan that has a rate may give now.
func (r *reclaiming) rates(ctx context.Context, pools []*reclaimPool) (left map[shares.ShareID]int, err error) {
	left = map[shares.ShareID]int{}
	var plans []int32
	var pers []float64
	for _, st := range pools {
		for _, a := range st.asks {
			rate := a.back.Terms.Rate
			if _, known := left[a.plan]; !known && rate.Per > 0 {
				left[a.plan] = rate.Jobs
				plans, pers = append(plans, int32(a.plan)), append(pers, time.Duration(rate.Per).Seconds())
			}
		}
	}
	if len(plans) == 0 {
		return left, nil
	}
	rows, err := collect[rateRow](ctx, r.tx, "reclaim_rates", pgx.StrictNamedArgs{"plans": plans, "pers_s": pers})
	for _, row := range rows {
		left[row.PlanID] -= row.N
	}
	return left, err
}

type candidateRow struct {
	JobID   int64
	Nonce   int64
	ShareID shares.ShareID
	QueueID shares.QueueID
	ShapeID int32
	Cores   int64
	Units   shares.Units
	AgeS    float64
}

func (r candidateRow) running() running { return running{r.QueueID, r.ShareID, r.ShapeID, r.Cores} }

// serve finds at most so many victims for one ask, and lets their orders come true in the standing. It returns how many.
func (r *reclaiming) serve(ctx context.Context, st *reclaimPool, a ask, most int) (n int, err error) {
	back := a.back
	covered := min(st.over[a.share], back.Units)
	st.over[a.share] -= covered
	back.Units = min(back.Units-covered, shares.Units(max(most, 0))*back.Job)
	if back.Units < back.Job || st.hopeless(back) {
		return 0, nil
	}
	// No share gives more jobs than that, unless the slots that it runs in are much slower than the claimer's would be.
	n = min(4*int(back.Units/back.Job), mostOrders)
	rows, err := collect[candidateRow](ctx, r.tx, "reclaim_candidates", pgx.StrictNamedArgs{"claimer": int32(a.share), "queues": a.queues,
		"cores": a.cores, "min_runtime_s": time.Duration(back.Terms.MinRuntime).Seconds(), "n": n})
	if err != nil {
		return 0, err
	}
	tree, now, kept := st.book.Tree(), time.Now(), st.kept.copied()
	byJob := map[int64]candidateRow{}
	var jobs []shares.Running
	for _, row := range rows {
		leaf, ok := tree.ByID(row.ShareID)
		if ok && tree.Leaf(leaf) && !r.ordersJob(row.JobID) && kept.spares(row.running()) {
			kept.take(row.running())
			byJob[row.JobID] = row
			started := now.Add(-time.Duration(row.AgeS * float64(time.Second)))
			jobs = append(jobs, shares.Running{ID: row.JobID, Leaf: leaf, Units: row.Units, Started: started})
		}
	}
	victims := st.book.Victims(st.r, back, jobs, now)
	victims = victims[:min(len(victims), most)]
	for _, v := range victims {
		st.pass(v.Leaf, back.Leaf, v.Units)
		st.kept.take(byJob[v.ID].running())
		r.given[claimer{st.pool, a.share}] += v.Units
		r.orders = append(r.orders, reclaimOrder{job: v.ID, nonce: byJob[v.ID].Nonce, pool: st.pool, claimer: a.share,
			plan: a.plan, grace: time.Duration(back.Terms.Grace)})
	}
	return len(victims), nil
}

func (r *reclaiming) ordersJob(job int64) bool {
	return slices.ContainsFunc(r.orders, func(o reclaimOrder) bool { return o.job == job })
}
