package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// ReportExternal records what a resource's own server counts: all units, and the units in use, divvy's included.
func (v *Verbs) ReportExternal(ctx context.Context, name, queue string, total, used int64) error {
	for field, n := range map[string]int64{"total": total, "used": used} {
		if n < 0 || n > shares.MaxResourceUnits {
			return job.Wrong(field, n, fmt.Sprintf("a number of units, 0 … %d", shares.MaxResourceUnits))
		}
	}
	of, id, err := v.d.site.supply(name, queue)
	if err != nil {
		return err
	}
	return pg.Named("report of "+name, v.say(ctx, func(tx pgx.Tx) error {
		r := entry.Reported{Name: name, Queue: id, Total: total, Used: used}
		args := pg.Args{"name": name, "queue": int32(id), "settle_s": of.Settle.Seconds()}
		var at time.Time
		if err := tx.QueryRow(ctx, query["settled"], args).Scan(&at, &r.Settled); err != nil {
			return err
		}
		r.At, r.Settled = at.UTC(), min(r.Settled, shares.MaxResourceUnits)
		return intake.Report(ctx, tx, r)
	}))
}

// supply finds a resource of the site, and the queue of a report.
func (s *site) supply(name, queue string) (of shares.Resource, id shares.QueueID, err error) {
	x := s.now.Load()
	if x == nil {
		return of, 0, ErrUnavailable
	}
	of, ok := x.version.Resource(name)
	if !ok || of.BuiltIn() {
		return of, 0, fmt.Errorf("%w: %s", ErrUnknownResource, x.version.NoResource(name))
	}
	q, known := x.named[queue]
	switch {
	case of.PerQueue && !known:
		return of, 0, fmt.Errorf("%w %q: every queue has units of %s of its own", ErrUnknownQueue, queue, name)
	case !of.PerQueue && queue != "":
		return of, 0, job.Wrong("queue", fmt.Sprintf("%q", queue), "none: all queues share the units of "+name)
	case !of.PerQueue:
		return of, 0, nil
	}
	return of, q.ID, nil
}
