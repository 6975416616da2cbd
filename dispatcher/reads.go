package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Reads answers questions of people and programs: about jobs by their tables, about how all stands by the machine.
type Reads struct {
	*lookup.Reader
	*holdings.Book

	db     *pgxpool.Pool
	view   func(ctx context.Context, look func(machine.View)) error
	fold   func(ctx context.Context) error // brings the tables up to what the machine has
	holes  func(ctx context.Context) ([]rules.HoleRow, error)
	replay replay.Reader
	lately *lately

	offered func() map[string]shares.Units // by pilots that got no jobs, by pool
}

// newReads has what a dispatcher answers by.
func newReads(d *Dispatcher) *Reads {
	jobs := lookup.New(lookup.Config{DB: d.cfg.Pool, Site: d.site.current, Soft: d.soft})
	return &Reads{
		Reader: jobs,
		Book:   holdings.New(holdings.Config{DB: d.cfg.Pool, View: d.View, Queue: d.site.queue, Jobs: jobs}),
		db:     d.cfg.Pool, view: d.View, fold: background{d}.catchUp, holes: d.rules.Holes, offered: d.Offered, lately: newLately(d.cfg.Daemon, &d.site),
		replay: replay.Reader{Log: d.log, Store: replay.NewStore(d.cfg.Pool), Version: d.cfg.Site, Config: d.cfg.Machine},
	}
}

// Job returns a job with its attempts, or lookup.ErrNoJob. Unless it is over, or runs as the tables have it, they are brought up to the log first.
func (r *Reads) Job(ctx context.Context, id int64) (JobRow, error) {
	j, err := r.Reader.Job(ctx, id)
	if err != nil || j.EndedAt != nil {
		return j, err
	}
	var l machine.Lease
	runs := false
	if err := r.view(ctx, func(v machine.View) { l, runs = v.Lease(id) }); err != nil { // then nobody knows better
		return j, nil
	}
	if runs && j.State == "leased" && int(l.Attempt) == len(j.Attempts) {
		return j, nil
	}
	if err := r.fold(ctx); err != nil {
		return j, err
	}
	return r.Reader.Job(ctx, id)
}

// softWithin bounds how long a read waits for what only the leader knows.
const softWithin = time.Second

// soft is what pilots last said of leases, as the leader has it; nothing when it does not answer.
func (d *Dispatcher) soft(ctx context.Context, leases []fold.Fence) map[fold.Fence]lookup.Soft {
	ctx, cancel := context.WithTimeout(ctx, softWithin)
	defer cancel()
	jobs := make([]int64, len(leases))
	for i, l := range leases {
		jobs[i] = l.Job
	}
	seen, err := d.Seen(ctx, jobs)
	if err != nil || len(seen) != len(leases) {
		return nil
	}
	all := make(map[fold.Fence]lookup.Soft, len(leases))
	for i, s := range seen {
		if !s.At.IsZero() {
			all[leases[i]] = lookup.Soft{State: stateWords[s.State], Usage: Usage{CPUSeconds: float64(s.CPUMilli) / 1000, MemoryMB: s.MemoryMB}}
		}
	}
	return all
}

var stateWords = map[lease.State]LeaseState{lease.Granted: Granted, lease.Starting: Starting, lease.Running: Running, lease.Draining: Draining}

// see has a function look at the moment. The loop waits for it.
func (r *Reads) see(ctx context.Context, m explain.Moment, look func(explain.Moment)) error {
	m.Pilots, m.Pulls = r.lately.pilots()
	m.Offered = r.offered()
	return r.view(ctx, func(v machine.View) {
		m.View, m.At = v, time.Now().UTC()
		m.AtNodes = r.lately.atNodes(v.GangHolds(m.At))
		look(m)
	})
}

// Those who cannot be told that something is not known wait so long for it, and look so often.
const (
	nowWithin = 2 * time.Second
	nowEvery  = 20 * time.Millisecond
)

// now is see for those who cannot be told an error: while the daemon reads its state it waits. It does not look at all when that takes too long.
func (r *Reads) now(m explain.Moment, look func(explain.Moment)) {
	ctx, cancel := context.WithTimeout(context.Background(), nowWithin)
	defer cancel()
	for errors.Is(r.see(ctx, m, look), ErrUnavailable) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(nowEvery):
		}
	}
}

// Loaded says whether this daemon has read its state, for which it waits a little: before that, what stands now is nothing to it. ErrUnavailable: it
// has not.
func (r *Reads) Loaded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nowWithin)
	defer cancel()
	for {
		if err := r.view(ctx, func(machine.View) {}); err == nil || ctx.Err() == nil && !errors.Is(err, ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ErrUnavailable
		case <-time.After(nowEvery):
		}
	}
}

// black are the queues that fail nearly all that they get; none when the database does not answer.
func (r *Reads) black(ctx context.Context) map[shares.QueueID]explain.BlackHoleStanding {
	ctx, cancel := context.WithTimeout(ctx, nowWithin)
	defer cancel()
	rows, err := r.holes(ctx)
	if err != nil {
		return nil
	}
	all := make(map[shares.QueueID]explain.BlackHoleStanding, len(rows))
	for _, h := range rows {
		all[h.QueueID] = h.BlackHoleStanding
	}
	return all
}

// Ended is how many jobs reached their final state within a time, to the hour, as of what is folded. Jobs that a rule gave
// up are of the queue of their last attempt; those that ended without a lease have none.
func (r *Reads) Ended(ctx context.Context, within time.Duration) ([]explain.Count, error) {
	rows, err := r.Reader.Ended(ctx, within)
	out := make([]explain.Count, len(rows))
	for i, c := range rows {
		out[i] = explain.Count(c)
	}
	return out, err
}

// ShareSeries returns samples of how a share stood, oldest first.
func (r *Reads) ShareSeries(ctx context.Context, q series.Request) (series.ShareSeries, error) {
	return series.Read(ctx, r.db, q)
}

// collect runs a statement of this package.
func collect[T any](ctx context.Context, db *pgxpool.Pool, verb string, args pg.Args) ([]T, error) {
	rows, err := db.Query(ctx, query[verb], args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return got, nil
}
