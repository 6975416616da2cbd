package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// Timing bounds how long things take. Zero fields get their defaults.
type Timing struct {
	FirstTTL   time.Duration // a new lease ends after it unless renewed (90 s)
	TTL        time.Duration // a renewed one (180 s)
	RenewEvery time.Duration // what pilots are told (60 s)
	Statement  time.Duration // one transaction of a grant or an end (10 s)
	Patience   time.Duration // a pull waits so long beyond its wait for the database before it gives up (10 s)
	DaemonTTL  time.Duration // a daemon that was not seen for it is closed (15 s)
	Grace      time.Duration // leases run out no sooner after a time in which they could not be renewed, see sparing; 0: at once
	Making     time.Duration // pulls wait for jobs to be made while nobody makes any (1 s); for those of one share five times as long
	LocalWait  time.Duration // jobs that prefer to be near their inputs come last elsewhere for it (10 min)
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.FirstTTL, 90*time.Second)
	set(&t.TTL, 180*time.Second)
	set(&t.RenewEvery, 60*time.Second)
	set(&t.Statement, 10*time.Second)
	set(&t.Patience, 10*time.Second)
	set(&t.DaemonTTL, 15*time.Second)
	set(&t.Making, time.Second)
	set(&t.LocalWait, 10*time.Minute)
	return t
}

// Config is what a dispatcher needs.
type Config struct {
	Pool    *pgxpool.Pool
	Load    func(context.Context) (shares.Version, error) // the newest site version
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: not exported
	Timing  Timing
	Address string // host:port at which other daemons reach this one; empty: they do not
	Secret  string // what they must say there
	Version string // of this program, for the table of daemons

	Keep        time.Duration // how long what a replay needs is kept: the ledger, decisions, what was counted (7 days)
	KeepHistory time.Duration // how long attempts and ended jobs are kept; 0: for ever
	KeepSamples time.Duration // how long the standing of shares is kept, see Sample (30 days)
	KeepHours   time.Duration // how long roll-ups by the hour are kept; 0: for ever
	KeepDays    time.Duration // how long roll-ups by the day are kept; 0: for ever
	GangHold    time.Duration // how long slots of a node are held for a gang at the most (60 s)

	ShareMetrics ShareMetrics // which shares have metrics of their own; the zero value: those at the top

	RecordAll bool // records every decision, not a sample above a thousand a second

	tape *taping // see there

	Now func() time.Time // the clock of plans and of what is remembered; nil: the database's, and this host's
}

// errSlow is what a pull gets that the database kept waiting: the same as an unavailable one.
var errSlow = fmt.Errorf("the database did not answer in time: %w", context.DeadlineExceeded)

// Dispatcher hands out jobs. Make one with Open, and Run it.
type Dispatcher struct {
	cfg      Config
	metrics  *metrics
	payloads *payloadCache
	kicks    chan struct{} // for the first lease worker
	helps    chan struct{} // for the second one
	hint     chan struct{} // other daemons may want to look at the ledger
	renewals *gatherer[renewal, renewed]
	ends     *gatherer[ended, verdict]
	work     sync.WaitGroup // reads, takes and look-ups under way
	outcomes outcomes
	attempts atomic.Pointer[retry.Policy] // of the site in force

	records    records    // of decisions, until they are written
	lately     lately     // what people may ask for of the last while
	refreshing sync.Mutex // one Refresh at a time

	readingClaims sync.Mutex // one read of claims at a time; before mu
	tending       sync.Mutex // one TendClaims at a time: the lane of claims is its own

	memoryWritten time.Time     // by Remember, under mu
	memoryPause   time.Duration // from one look at what shares miss to the next

	externalSeen time.Time     // the newest report of a resource's server that was read
	backlogRead  time.Time     // by Refresh
	backlogPause time.Duration // from then on
	madeSince    bool          // since then jobs were made

	vacuums vacuums // by SpareVacuum
	survey  atomic.Pointer[survey]
	made    atomic.Int64 // see Totals
	granted atomic.Int64
	starved starved // by Survey

	grace sparing

	reportsSeen int64 // job up to which Purge has looked for reports that are left behind
	rangesSeen  rangeCursor
	readySeen   readyCursor

	mu         sync.Mutex
	id         int64 // of the daemons row; written under mu by join only
	state      *state
	line       line
	requests   map[[16]byte]*pull // by request id, while they are served
	nPulls     int64              // that were let into the line
	lanes      [nLanes]*lane
	base       [nLanes]int64 // up to where own moves are part of limits.free
	followed   map[laneID]int64
	daemons    map[int64]Peer      // that are not closed, this one among them
	active     map[int64]time.Time // other daemons: when a grant of theirs was last seen
	newest     int64               // daemons row that was seen
	inDebt     map[*limit]bool
	toRead     []*window // in turn; see startReads
	nReads     int       // reads of windows under way
	narrow     narrowReads
	gangReads  gangReads
	readsAhead bool      // one of them is of a window that has jobs
	outdated   bool      // limits must be read again
	lost       bool      // a move was not counted: everything must be read again
	stranded   bool      // closed daemons may have units, see regain
	fresh      time.Time // when the last Refresh that succeeded began
	unsure     []*pull   // to be told that there is no job, once that is known of the present
	freshening bool
	toRecall   []*pull // to be looked up if they are repeats
	recalling  bool
	awaiting   bool // decisions wait for jobs to be made
	wheel      wheel
	swept      time.Time
	firstBegan time.Time     // when the first lease worker took its batch; zero while it has none
	sweepPause time.Duration // from then on

	summarised    time.Time // by Account: the index of numbers, of the newest days
	allSummarised time.Time // of all

	stopping bool
}

type laneID struct {
	Daemon int64
	Lane   int
}

// Open registers a daemon and reads what it must know: the site, the shapes, the checkpoint and the tail of the
// ledger. Ready jobs are not read until they are wanted.
func Open(ctx context.Context, cfg Config) (*Dispatcher, error) {
	if cfg.Pool == nil || cfg.Load == nil {
		return nil, errors.New("dispatcher: Config needs Pool and Load")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Timing = cfg.Timing.withDefaults()
	cfg.Keep, cfg.KeepSamples = cmp.Or(cfg.Keep, 7*day), cmp.Or(cfg.KeepSamples, 30*day)
	d := &Dispatcher{
		cfg: cfg, metrics: newMetrics(cfg.Metrics, cfg.ShareMetrics), kicks: make(chan struct{}, 1), helps: make(chan struct{}, 1), hint: make(chan struct{}, 1),
		line: newLine(), requests: map[[16]byte]*pull{}, wheel: wheel{}, active: map[int64]time.Time{},
	}
	d.payloads, d.lately.began = newPayloadCache(cfg.Pool), time.Now()
	if cfg.RecordAll {
		d.records.most = mostRecordsAll
	}
	d.renewals = newGatherer(d.renewBatch, 1)
	d.ends = newGatherer(d.endBatch, nEndLanes)
	d.ends.tend = d.tendEnds
	if err := d.join(ctx); err != nil {
		return nil, err
	}
	if err := d.firstHeard(ctx); err != nil {
		return nil, err
	}
	if cfg.Metrics != nil {
		cfg.Metrics.MustRegister(newResourceMetrics(d), newClaimMetrics(d), newGangMetrics(d), newIOMetrics(d), newSurveyMetrics(d))
	}
	for n := 1; n > 0; {
		var err error
		if n, err = d.Refresh(ctx); err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
	}
	return d, nil
}

// join makes this process a daemon of its own: a new row, new lanes, everything read afresh. It is done at the
// start, and again when others closed the row because it was silent for too long.
func (d *Dispatcher) join(ctx context.Context) error {
	host, _ := os.Hostname()
	var id int64
	args := pgx.StrictNamedArgs{"host": host, "pid": os.Getpid(), "address": d.cfg.Address, "secret": d.cfg.Secret, "version": d.cfg.Version}
	if err := d.cfg.Pool.QueryRow(ctx, query["join"], args).Scan(&id); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	fresh, err := d.load(ctx, id)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id = id
	for i := range d.lanes {
		d.lanes[i] = &lane{daemon: id, no: i}
	}
	d.base, d.toRead = [nLanes]int64{}, nil
	d.state, d.followed, d.daemons, d.newest = fresh.state, fresh.followed, fresh.daemons, fresh.newest
	d.lost, d.stranded, d.daemons[id] = false, true, Peer{ID: id}
	d.state.sample.all = d.cfg.RecordAll
	d.state.diary.tape = d.cfg.tape
	d.cfg.tape.began(d)
	d.state.making.pause = d.cfg.Timing.Making
	d.state.localWait = d.cfg.Timing.LocalWait
	d.state.gangs.line, d.state.gangs.most = &d.line, cmp.Or(d.cfg.GangHold, resource.DefaultGangHold)
	d.newest = max(d.newest, id)
	d.adopt(fresh.site)
	for _, t := range fresh.turns {
		d.state.tookTurn(t)
	}
	return nil
}

// Run serves pulls, renewals and ends until ctx is done; then it takes no more, finishes those in flight and
// returns. All other work is in the steps.
func (d *Dispatcher) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	workers.Go(func() { d.leaseLoop(ctx, func() *lane { return d.lane(0) }) })
	workers.Go(func() { d.secondLoop(ctx, func() *lane { return d.lane(1) }) })
	workers.Go(func() { d.renewals.run(ctx, 0) })
	for i := range nEndLanes {
		workers.Go(func() { d.ends.run(ctx, i) })
	}
	workers.Go(func() { d.hintLoop(ctx) })
	<-ctx.Done()
	d.stop()
	workers.Wait()
	d.work.Wait()
	return nil
}

// Drain makes every pull that waits, and every later one, end with ErrStopping; those in a batch are answered.
// Renewals and ends go on until Run ends.
func (d *Dispatcher) Drain() { d.stop() }

func (d *Dispatcher) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopping = true
	d.line.refuse(d, ErrStopping)
}

func (d *Dispatcher) lane(no int) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lanes[no]
}

// Close writes the last records and what shares have missed, gives back what the daemon held in escrow and closes its
// row. Call it after Run has returned.
func (d *Dispatcher) Close(ctx context.Context) error {
	_, err := d.Record(ctx)
	if len(d.Seniors()) == 0 {
		err = errors.Join(err, d.keepLast(ctx))
	}
	return errors.Join(err, d.closeDaemons(ctx, []int64{d.id}))
}
