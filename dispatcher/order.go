package dispatcher

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Coming is how many jobs of a shape a share has to come.
type Coming = rules.Coming

// Order says in which order jobs are to be made for shares that have some to come and none ready: that in which they come first at the pulls
// to come.
func (v *Verbs) Order(ctx context.Context, coming []Coming) (order []shares.ShareID, err error) {
	err = v.d.View(ctx, func(w machine.View) { order = rules.Order(w, coming) })
	return order, pg.Named("order", err)
}

// Ends is how attempts ended lately, by pool and share, as far as they are folded.
func (v *Verbs) Ends(ctx context.Context) (map[string]map[shares.ShareID]shares.Ends, error) {
	rates, err := rules.EndRates(ctx, v.d.cfg.Pool)
	if err != nil {
		return nil, err
	}
	pools := map[string]map[shares.ShareID]shares.Ends{}
	for _, r := range rates {
		q, ok := v.d.site.queue(r.Queue)
		if !ok || r.PerSecond <= 0 || v.d.site.path(r.Share) == "" {
			continue
		}
		if pools[q.Pool] == nil {
			pools[q.Pool] = map[shares.ShareID]shares.Ends{}
		}
		was := pools[q.Pool][r.Share]
		all := was.PerSecond + r.PerSecond
		pools[q.Pool][r.Share] = shares.Ends{PerSecond: all, Units: (was.PerSecond*was.Units + r.UnitsPerS) / all}
	}
	return pools, nil
}

// Totals are how many jobs were made, and granted, since this daemon began, by all daemons as far as it has followed them.
func (v *Verbs) Totals() (made, granted int64) { return v.d.eye.made.Load(), v.d.eye.granted.Load() }
