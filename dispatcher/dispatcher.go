package dispatcher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/meter"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/dispatcher/runs"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/shares"
)

// Config is what a dispatcher needs.
type Config struct {
	Pool       *pgxpool.Pool
	Site       func(ctx context.Context, number int64) (shares.Version, error) // a version of the site by its number
	Log        *slog.Logger
	Daemon     int64  // a number that no daemon had before
	Address    string // at which other daemons reach this one
	Machine    machine.Config
	Timing     lease.Timing
	Outbox     Outbox
	End        func(l machine.Lease, said entry.Ended) entry.Ended              // see lease.Config; nil: by the rules of the site
	Alone      func() bool                                                      // see lease.Config; nil: it never knows
	Led        func()                                                           // called when this daemon begins to lead; may be nil
	News       func()                                                           // called after a batch, and after a fold; must be quick; may be nil
	Render     func(ctx context.Context, leases []machine.Lease) ([]Run, error) // what pilots start, one for each lease; nil: from the tables of intake
	RenewEvery time.Duration                                                    // how often pilots renew; 0: a minute
	Send       func(to int64, m lease.Message)                                  // carries a message to another daemon, or loses it; nil: there is none

	Metrics      prometheus.Registerer // nil: not exported
	ShareMetrics meter.ShareMetrics
	Keep         upkeep.Keep   // for how long things are kept; 0: for ever
	Sample       time.Duration // how often it is written down how shares stand; 0: each ten seconds
	Behind       Behind
}

// Outbox reads the rows that others wrote for the log. Appends delete its rows, or mark them.
type Outbox interface {
	// Pending returns the oldest rows that are not marked, at most most, by their ids.
	Pending(ctx context.Context, most int) ([]ledger.Row, error)
}

// Dispatcher hands out jobs. Make one with Open, and Run it.
type Dispatcher struct {
	*Reads
	*Verbs
	steps    []Step
	brake    brake
	meter    *meter.Meter
	reported reported

	cfg    Config
	log    *ledger.Table
	folder *fold.Folder // folding is held
	loop   *lease.Loop
	rules  *rules.Rules

	folding  sync.Mutex
	pause    atomic.Int64 // ns; of folds, see fold.Folder.Pause
	began    time.Time
	eye      eye
	site     site
	offered  atomic.Pointer[[]entry.Offer] // of the last tick
	peers    atomic.Int64                  // daemons that can be reached
	draining atomic.Bool
}

// Open makes sure that the log has room, and prepares a dispatcher. It reads its state when it runs.
func Open(ctx context.Context, cfg Config) (*Dispatcher, error) {
	if cfg.Pool == nil || cfg.Site == nil || cfg.Outbox == nil || cfg.Daemon < 1 {
		return nil, errors.New("dispatcher: Config needs Pool, Site, Outbox and Daemon")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.RenewEvery = cmp.Or(cfg.RenewEvery, time.Minute)
	cfg.Timing.First = cmp.Or(cfg.Timing.First, cfg.Timing.TTL, 90*time.Second)
	if cfg.News == nil {
		cfg.News = func() {}
	}
	if cfg.Render == nil {
		cfg.Render = runs.New(cfg.Pool).Render
	}
	log := ledger.New(cfg.Pool)
	d := &Dispatcher{cfg: cfg, log: log, folder: fold.New(cfg.Pool, log, fold.Sites(cfg.Site)), meter: meter.New(cfg.ShareMetrics), began: time.Now()}
	d.brake.bound = cfg.Behind.orDefault()
	d.eye.told = cfg.News
	if _, err := upkeep.Room(ctx, background{d}.upkeep()); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	d.rules = rules.New(rules.Config{Pool: cfg.Pool, View: d.View, Fold: d.catchUp, Return: d.Return, Offered: d.Offered, TTL: cmp.Or(cfg.Timing.TTL, 3*time.Minute),
		Count: d.meter.Count})
	d.Reads = newReads(d)
	if cfg.End == nil {
		cfg.End = func(l machine.Lease, said entry.Ended) entry.Ended {
			return d.rules.Decide(l, said, l.Killed && l.Idle)
		}
	}
	led := func() {
		d.rules.Begin()
		d.lately.lead()
		if cfg.Led != nil {
			cfg.Led()
		}
	}
	d.loop = lease.NewLoop(lease.Config{Daemon: cfg.Daemon, Address: cfg.Address, Timing: cfg.Timing, Draw: drawID, Check: ledger.Check,
		End: cfg.End, Alone: cfg.Alone, Led: led, Told: d.told, Watch: d.lately, Heard: d.eye.heard, Queue: d.site.queue, Polled: polled}, world{d})
	d.eye.loop = d.loop
	d.Verbs = &Verbs{d}
	var err error
	if d.steps, err = (background{d}).list(); err == nil && cfg.Metrics != nil {
		err = cfg.Metrics.Register(d.meter)
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
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
func (d *Dispatcher) Reach(daemons []int64) {
	d.peers.Store(int64(len(daemons)))
	d.loop.Tell(lease.Peers{Daemons: daemons})
}

// Known is the version of the site in force here, if it has that number.
func (d *Dispatcher) Known(number int64) *shares.Version { return d.site.version(number) }

// Leads reports whether this daemon leads, as far as it knows.
func (d *Dispatcher) Leads() bool { return d.eye.leads() }

// Leader is the daemon that leads, as far as this one knows; 0: none is known.
func (d *Dispatcher) Leader() int64 { return d.eye.leader() }

// Written says that a row of the outbox was committed; the leader looks at once.
func (d *Dispatcher) Written() { d.loop.Tell(lease.Written{}) }

// Drain makes the daemon lead no more, and take no more pulls.
func (d *Dispatcher) Drain() {
	d.draining.Store(true)
	d.loop.Tell(lease.Drain{})
}

// View calls look with the machine. The loop waits for look, so look should only copy. ErrUnavailable while the
// daemon reads its state.
func (d *Dispatcher) View(ctx context.Context, look func(machine.View)) error {
	return d.eye.view(ctx, look)
}

// Return ends leases that are still there as Returned, and says how many there were.
func (d *Dispatcher) Return(ctx context.Context, leases []fold.Fence) (n int, err error) {
	ends := make([]lease.End, len(leases))
	for i, f := range leases {
		ends[i] = lease.End{Key: f, Outcome: entry.Returned}
	}
	if len(ends) == 0 {
		return 0, nil
	}
	out, err := d.finish(ctx, ends)
	for _, v := range out {
		if v.Is {
			n++
		}
	}
	return n, err
}

// Offered returns what pilots offered recently without getting jobs, by pool, as of the last tick.
func (d *Dispatcher) Offered() map[string]shares.Units {
	all := map[string]shares.Units{}
	if offers := d.offered.Load(); offers != nil {
		for _, o := range *offers {
			all[o.Pool] = o.Units
		}
	}
	return all
}

// told receives the entries that the loop has applied.
func (d *Dispatcher) told(e entry.Entry) {
	switch e := e.(type) {
	case entry.Adopted:
		d.site.adopt(e.Site)
	case entry.Tick:
		d.offered.Store(&e.Offered)
	case entry.Granted:
		d.lately.granted(&e)
		d.rules.Granted(&e)
	}
}
