package face

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Config is what a dispatcher needs.
type Config struct {
	Pool    *pgxpool.Pool
	Site    func(ctx context.Context, number int64) (shares.Version, error) // a version of the site by its number
	Log     *slog.Logger
	Daemon  int64  // a number that no daemon had before
	Address string // at which other daemons reach this one
	Machine machine.Config
	Timing  lease.Timing
	Outbox  Outbox
	End     func(l machine.Lease, said entry.Ended) entry.Ended // see lease.Config; nil: without rules
	Led     func()                                              // this daemon begins to lead; nil: nobody wants to know
	Send    func(to int64, m lease.Message)                     // carries a message to another daemon, or loses it; nil: there is none
}

// Outbox reads what others wrote for the log. Appends delete its rows, or mark them.
type Outbox interface {
	// Pending returns the oldest rows that are not marked, at most most, by their ids.
	Pending(ctx context.Context, most int) ([]ledger.Row, error)
}

// Dispatcher hands out jobs. Make one with Open, and Run it.
type Dispatcher struct {
	cfg    Config
	log    *ledger.Table
	folder *fold.Folder
	loop   *lease.Loop
}

// Room of the log that is made ahead, and the size of its partitions, in batches.
const (
	logRoom = 1_000_000
	logSize = 1_000_000
)

// Open makes sure that the log has room, and prepares a dispatcher. It reads its state when it runs.
func Open(ctx context.Context, cfg Config) (*Dispatcher, error) {
	if cfg.Pool == nil || cfg.Site == nil || cfg.Outbox == nil || cfg.Daemon < 1 {
		return nil, errors.New("face: Config needs Pool, Site, Outbox and Daemon")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	log := ledger.New(cfg.Pool)
	if _, err := log.Extend(ctx, logRoom, logSize); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	d := &Dispatcher{cfg: cfg, log: log, folder: fold.New(cfg.Pool, log)}
	q := &queues{}
	d.loop = lease.NewLoop(lease.Config{Daemon: cfg.Daemon, Address: cfg.Address, Timing: cfg.Timing, Draw: drawID, Check: ledger.Check,
		End: cfg.End, Led: cfg.Led, Queue: q.queue, Polled: q.polled}, world{d})
	return d, nil
}

func drawID() (id entry.ID) {
	_, _ = rand.Read(id[:])
	return id
}

// Run serves until ctx is done.
func (d *Dispatcher) Run(ctx context.Context) { d.loop.Run(ctx) }

// Receive takes a message that another daemon sent.
func (d *Dispatcher) Receive(from int64, m lease.Message) {
	d.loop.Tell(lease.Received{From: from, Message: m})
}

// Reach says which other daemons can be reached.
func (d *Dispatcher) Reach(daemons []int64) { d.loop.Tell(lease.Peers{Daemons: daemons}) }

// Written says that somebody committed a row of the outbox: the leader looks at once.
func (d *Dispatcher) Written() { d.loop.Tell(lease.Written{}) }

// Drain makes the daemon lead no more.
func (d *Dispatcher) Drain() { d.loop.Tell(lease.Drain{}) }

// Fold makes one step of the tables, of up to so many batches, and says how many it took. Do it again while it takes all that it may.
func (d *Dispatcher) Fold(ctx context.Context, batches int) (n int, err error) {
	r, err := d.folder.Fold(ctx, batches)
	if errors.Is(err, fold.ErrRaced) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r.Odds > 0 {
		d.cfg.Log.Error("entries of the log did not fit the tables", "entries", r.Odds, "first", r.Odd)
	}
	if p, err := d.folder.Position(ctx); err == nil {
		d.loop.Tell(lease.Folded{Seq: p.Seq})
	}
	return r.Batches, nil
}

// Why an ask came to nothing.
var (
	ErrUnavailable = errors.New("unavailable: ask again")
	ErrNoJobs      = errors.New("no job")
	ErrRequestOver = errors.New("the request was answered before, and its leases have ended")
)

func status(a lease.Answer) error {
	switch a.Status {
	case lease.Done:
		return nil
	case lease.NoJob:
		return ErrNoJobs
	case lease.Over:
		return ErrRequestOver
	}
	return ErrUnavailable
}

// Pull gives a slot jobs, and waits for one.
func (d *Dispatcher) Pull(ctx context.Context, p machine.Pull, wait time.Duration) ([]machine.Lease, error) {
	a, err := d.loop.Ask(ctx, lease.Ask{Pull: &p, Wait: wait})
	if err != nil {
		return nil, err
	}
	return a.Leases, status(a)
}

// Renew keeps leases alive.
func (d *Dispatcher) Renew(ctx context.Context, all []lease.Renewal) ([]lease.Renewed, error) {
	a, err := d.loop.Ask(ctx, lease.Ask{Renew: all})
	if err != nil {
		return nil, err
	}
	return a.Renewed, status(a)
}

// Finish records how attempts ended.
func (d *Dispatcher) Finish(ctx context.Context, all []lease.End) ([]lease.Recorded, error) {
	for _, e := range all {
		if e.Text != nil {
			if err := e.Text.Check(); err != nil {
				return nil, fmt.Errorf("finish: %w", err)
			}
		}
	}
	a, err := d.loop.Ask(ctx, lease.Ask{Finish: all})
	if err != nil {
		return nil, err
	}
	return a.Verdicts, status(a)
}
