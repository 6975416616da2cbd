package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// external is what the server of a resource last said of all its units, whoever uses them.
type external struct {
	total, used, settled int64
	reported             time.Time // by the database's clock, and
	at                   time.Time // by this host's
	stale                bool      // it is older than external_expires
}

// externalRow is a report as it is stored. Settled is what was held for longer than settle where it was received.
type externalRow struct {
	Name       string
	QueueID    shares.QueueID
	Total      int64
	Used       int64
	Settled    int64
	ReportedAt time.Time
	AgeS       float64
}

// ReportExternal notes what the server of a resource says: how many units there are, and how many of them are used, ours
// too as it sees them. queue is empty but for a resource of which every queue has units of its own. All daemons go by it
// from their next look on, until it is older than external_expires. Errors: ErrUnknownResource, ErrUnknownQueue, *FieldError.
func (d *Dispatcher) ReportExternal(ctx context.Context, name, queue string, total, used int64) error {
	switch {
	case total < 0 || total > shares.MaxResourceUnits:
		return job.Wrong("total", total, fmt.Sprintf("a number of units, 0 … %d", shares.MaxResourceUnits))
	case used < 0 || used > shares.MaxResourceUnits:
		return job.Wrong("used", used, fmt.Sprintf("a number of units, 0 … %d", shares.MaxResourceUnits))
	}
	key, settled, err := d.settledOf(name, queue)
	if err != nil {
		return err
	}
	_, err = d.cfg.Pool.Exec(ctx, query["report_external"], pgx.StrictNamedArgs{"name": key.ref, "queue": int32(key.queue), "total": total,
		"used": used, "settled": settled})
	if err != nil {
		return fmt.Errorf("report of %s: %w", name, err)
	}
	if err := d.notify(ctx, "ledger"); err != nil {
		d.cfg.Log.Debug("no hint of a report", "err", err) // they look by themselves
	}
	return d.readExternal(ctx)
}

// settledOf finds a supply, and what has been held of it for longer than settle.
func (d *Dispatcher) settledOf(name, queue string) (key supplyKey, settled int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	r, ok := s.version.Resource(name)
	if !ok || r.BuiltIn() {
		return key, 0, fmt.Errorf("%w: %s", ErrUnknownResource, s.version.NoResource(name))
	}
	key.ref = name
	q := s.byName[queue]
	switch {
	case r.PerQueue && q == nil:
		return key, 0, fmt.Errorf("%w %q: every queue has units of %s of its own", ErrUnknownQueue, queue, name)
	case !r.PerQueue && queue != "":
		return key, 0, job.Wrong("queue", fmt.Sprintf("%q", queue), "none: all queues share the units of "+name)
	case r.PerQueue:
		key.queue = q.ID
	}
	sup := s.supply(key, &r)
	return key, sup.recent.Settled(sup.book.Held(), s.now(), r.Settle), nil
}

// externalOverlap is how far back reports are read again: one that was begun before another may have been written after it.
const externalOverlap = 10 * time.Second

func ofFile(r shares.Resource) bool { return !r.BuiltIn() }

// readExternal follows what was reported since the last look.
func (d *Dispatcher) readExternal(ctx context.Context) error {
	d.mu.Lock()
	none, after := !slices.ContainsFunc(d.state.version.Resources, ofFile), d.externalSeen
	d.mu.Unlock()
	if none {
		return nil
	}
	if !after.IsZero() {
		after = after.Add(-externalOverlap)
	}
	rows, err := collect[externalRow](ctx, d.cfg.Pool, "external", pgx.StrictNamedArgs{"after": after})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		d.state.report(r)
		if r.ReportedAt.After(d.externalSeen) {
			d.externalSeen = r.ReportedAt
		}
	}
	return nil
}

// report puts a report in force, unless it is known.
func (s *state) report(r externalRow) {
	of, ok := s.version.Resource(r.Name)
	if !ok || of.PerQueue != (r.QueueID != 0) || of.PerQueue && s.queues[r.QueueID] == nil {
		return
	}
	sup := s.supply(supplyKey{r.Name, r.QueueID}, &of)
	at := s.now().Add(-time.Duration(r.AgeS * float64(time.Second)))
	if e := sup.report; e != nil && e.reported.Equal(r.ReportedAt) {
		return
	}
	sup.report = &external{total: r.Total, used: r.Used, settled: r.Settled, reported: r.ReportedAt, at: at}
	sup.follow()
}

// follow brings the book up to what the last report says, or to none when that is too old.
func (sup *supply) follow() {
	e := sup.report
	if e == nil {
		return
	}
	if e.stale = sup.state.now().Sub(e.at) > sup.of.ExternalExpires; e.stale {
		sup.book.ClearExternal()
	} else {
		sup.book.SetExternal(e.total, e.used, e.settled)
	}
	sup.ease()
}
