package dispatcher

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Reads answers questions of people and programs: about jobs by their tables, about how all stands by the machine.
type Reads struct {
	*lookup.Reader
	*holdings.Book

	d      *Dispatcher
	replay replay.Reader
	lately *lately
	wanted wantedBook
}

func newReads(d *Dispatcher) *Reads {
	r := &Reads{d: d, lately: newLately(d.cfg.Daemon, &d.site),
		replay: replay.Reader{Log: d.log, Store: replay.NewStore(d.cfg.Pool), Version: d.cfg.Site, Config: d.cfg.Machine}}
	r.Reader = lookup.New(lookup.Config{DB: d.cfg.Pool, Site: d.site.current, Soft: r.soft})
	r.Book = holdings.New(holdings.Config{DB: d.cfg.Pool, View: d.View, Queue: d.site.queue, Jobs: r.Reader})
	return r
}

// Job returns a job with its attempts, or lookup.ErrNoJob. Unless it is over, or runs as the tables have it, they are brought up to the log first.
func (r *Reads) Job(ctx context.Context, id int64) (JobRow, error) {
	j, err := r.Reader.Job(ctx, id)
	if err != nil || j.EndedAt != nil {
		return j, err
	}
	var l machine.Lease
	runs := false
	if err := r.d.View(ctx, func(v machine.View) { l, runs = v.Lease(id) }); err != nil { // then only the tables know
		return j, nil
	}
	if runs && j.State == "leased" && int(l.Attempt) == len(j.Attempts) {
		return j, nil
	}
	if err := r.d.catchUp(ctx); err != nil {
		return j, err
	}
	return r.Reader.Job(ctx, id)
}

// softWithin bounds how long a read waits for what only the leader knows.
const softWithin = time.Second

// soft is what pilots last said of leases, as the leader has it; nothing when it does not answer.
func (r *Reads) soft(ctx context.Context, leases []fold.Fence) map[fold.Fence]lookup.Soft {
	ctx, cancel := context.WithTimeout(ctx, softWithin)
	defer cancel()
	jobs := make([]int64, len(leases))
	for i, l := range leases {
		jobs[i] = l.Job
	}
	answer, err := r.d.ask(ctx, lease.Ask{Seen: jobs})
	if err != nil || len(answer.Seen) != len(leases) {
		return nil
	}
	all := make(map[fold.Fence]lookup.Soft, len(leases))
	for i, s := range answer.Seen {
		if !s.At.IsZero() {
			all[leases[i]] = lookup.Soft{State: stateWords[s.State], Usage: Usage{CPUSeconds: float64(s.CPUMilli) / 1000, MemoryMB: s.MemoryMB}}
		}
	}
	return all
}

var stateWords = map[lease.State]LeaseState{lease.Granted: Granted, lease.Starting: Starting, lease.Running: Running, lease.Draining: Draining}

// see has a function look at the moment. The loop waits for it.
func (r *Reads) see(ctx context.Context, m explain.Moment, look func(explain.Moment)) error {
	m.Pulls, m.Offered = r.lately, r.d.Offered()
	return r.d.View(ctx, func(v machine.View) {
		m.View, m.At = v, time.Now().UTC()
		m.AtNodes = r.lately.atNodes(v.GangHolds(m.At))
		m.Wanted = r.wanted.of(m)
		look(m)
	})
}

// nowWithin is how long those wait for something who cannot be told that it is not known.
const nowWithin = 2 * time.Second

// now is see for those who cannot be told an error: while the daemon reads its state it waits. It does not look at all when that takes too long.
func (r *Reads) now(m explain.Moment, look func(explain.Moment)) {
	ctx, cancel := context.WithTimeout(context.Background(), nowWithin)
	defer cancel()
	_ = poll(ctx, func() (bool, error) { return !errors.Is(r.see(ctx, m, look), ErrUnavailable), nil })
}

// Loaded says whether this daemon has read its state, for which it waits a little: before that, what stands now is nothing to it. ErrUnavailable: it
// has not.
func (r *Reads) Loaded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nowWithin)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		err := r.d.View(ctx, func(machine.View) {})
		if errors.Is(err, ErrUnavailable) {
			return false, nil
		}
		return true, err
	})
	if err != nil && ctx.Err() != nil {
		return ErrUnavailable
	}
	return err
}

// black are the queues that fail nearly all that they get; none when the database does not answer.
func (r *Reads) black(ctx context.Context) map[shares.QueueID]explain.BlackHoleStanding {
	ctx, cancel := context.WithTimeout(ctx, nowWithin)
	defer cancel()
	rows, err := r.d.rules.Holes(ctx)
	if err != nil {
		return nil
	}
	all := make(map[shares.QueueID]explain.BlackHoleStanding, len(rows))
	for _, h := range rows {
		all[h.QueueID] = h.BlackHoleStanding
	}
	return all
}

// ShareSeries returns samples of how a share stood, oldest first.
func (r *Reads) ShareSeries(ctx context.Context, q series.Request) (series.ShareSeries, error) {
	return series.Read(ctx, r.d.cfg.Pool, q)
}
