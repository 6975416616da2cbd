package suite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/internal/pg"
)

// slicePart is the part of the ready jobs that one slice takes.
const slicePart = 0.4

// snapshot is S6: claims before and after many claims under one snapshot. Every slice is the same: claims over HTTP,
// then all of them are finished and as many jobs generated, so that dead rows of jobs and leases pile up as they do in
// production. Only the claims are timed.
func snapshot(ctx context.Context, r *run) error {
	before := r.claims
	if before == nil {
		before = &figure.Rounds{}
		if err := claimRounds(ctx, r, "before the snapshot", before); err != nil {
			return err
		}
	}
	if err := r.Restore(ctx); err != nil {
		return err
	}
	r.Book.Command("a REPEATABLE READ transaction that has read is open during %d claims, in slices of %d; what a slice claimed is finished after it, and jobs are generated anew",
		r.sizes.Snapshot, r.slice())
	var after figure.Rounds
	var dead []figure.Series
	err := r.Place.InSnapshot(ctx, func(db pg.Querier) error {
		return held(ctx, db, func() (err error) {
			if err = underSnapshot(ctx, r, &after); err == nil {
				dead, err = deadRows(ctx, r.Place.Pool)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	if err := r.Measured(ctx, "claims under a snapshot"); err != nil {
		return err
	}
	r.Book.Add(snapshotFigures(before, &after, dead)...)
	return nil
}

// held fails when a transaction does not stay open while do runs, or sees anything that came after it: no row that dies meanwhile may be
// removed.
func held(ctx context.Context, db pg.Querier, do func() error) error {
	made, err := recount.Value[int64](ctx, db, query["snapshot"])
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	now, err := recount.Value[int64](ctx, db, query["snapshot"])
	if err != nil {
		return fmt.Errorf("the snapshot did not stay open: %w", err)
	}
	if now != made {
		return recount.Failedf("the snapshot saw %d jobs made, and now %d", made, now)
	}
	return nil
}

// underSnapshot claims in slices, then for rounds that are compared with those before.
func underSnapshot(ctx context.Context, r *run, after *figure.Rounds) error {
	for done := 0; done < r.sizes.Snapshot; {
		r.Book.Say("%d of %d claims under the snapshot", done, r.sizes.Snapshot)
		result, err := claimSlice(ctx, r)
		if err != nil {
			return err
		}
		done += result.All
		after.Add("every slice under it", "jobs/s", result.Rate())
	}
	return claimRounds(ctx, r, "at the end, under the snapshot", after)
}

func snapshotFigures(before, after *figure.Rounds, dead []figure.Series) []figure.Figure {
	named := func(of *figure.Rounds, side, name string) figure.Series { s := of.Of(side); s.Name = name; return s }
	base, end := named(before, "claims over HTTP", "claims before the snapshot"), named(after, "claims over HTTP", "claims at the end, under the snapshot")
	slow, slowBase := named(after, "p99 of a claim", "p99 of a claim at the end, under the snapshot"), named(before, "p99 of a claim", "p99 before the snapshot")
	return []figure.Figure{figure.AtLeast("S6", "ratio", end.Median/base.Median, 0.7, append([]figure.Series{end, base, after.Of("every slice under it")}, dead...)...),
		figure.AtMost("S6", "p99_ratio", slow.Median/slowBase.Median, 3, slow, slowBase)}
}

// claimRounds restores the data set before each round; the claims of the last one are left open.
func claimRounds(ctx context.Context, r *run, when string, rounds *figure.Rounds) error {
	for i := range r.Rounds {
		if err := r.Restore(ctx); err != nil {
			return err
		}
		r.Book.Say("round %d of %d: claims over HTTP %s", i+1, r.Rounds, when)
		c, err := r.ClaimsLeftOpen(ctx, 0)
		if err != nil {
			return err
		}
		note(rounds, "claims over HTTP", c)
		rounds.Add("p99 of a claim", "ms", c.P99)
	}
	return nil
}

// slice is how many claims a slice has: as many for each connection, and in all slices no fewer than asked for.
func (r *run) slice() int {
	n := int(math.Ceil(float64(r.sizes.Snapshot) / (slicePart * float64(r.Ready))))
	return (r.sizes.Snapshot + n*r.Pullers - 1) / (n * r.Pullers) * r.Pullers
}

// claimSlice claims the jobs of a slice, however long it takes, and restores the data set.
func claimSlice(ctx context.Context, r *run) (load.Outcome, error) {
	o := r.PullOrder(r.Served.Address(), 0)
	o.WarmUp, o.Duration, o.Most = 0, time.Hour, r.slice()
	result, claims, err := load.Do(ctx, r.Config.Load, o)
	if err != nil {
		return result, err
	}
	if result.All != len(claims) || result.All == 0 {
		return result, recount.Failedf("%d answers with %d leases", result.All, len(claims))
	}
	if err := r.Took(ctx, claims); err != nil {
		return result, err
	}
	return result, r.Restore(ctx)
}

// deadRows are the rows that the snapshot kept from being removed, as PostgreSQL estimates them.
func deadRows(ctx context.Context, db pg.Querier) (dead []figure.Series, err error) {
	type table struct {
		Name string
		Dead float64
	}
	tables, err := pg.Collect[table](ctx, db, query["dead_rows"])
	for _, t := range tables {
		dead = append(dead, figure.Of("dead rows of "+t.Name+" at the end", "rows", t.Dead))
	}
	return dead, err
}
