package dispatchertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/site"
)

// Timing is that of the dispatchers of tests: rows of the outbox are taken at once, leases may expire a second after the start, and a machine that
// is busy makes nothing unavailable.
var Timing = lease.Timing{Tick: 100 * time.Millisecond, Poll: 20 * time.Millisecond, Gather: 10 * time.Millisecond, Making: 50 * time.Millisecond,
	Rest: time.Second, Grace: time.Second, Silence: 20 * time.Second, Fresh: 15 * time.Second, Stopped: 20 * time.Second, Patience: 30 * time.Second}

// Dispatcher is one that leads, whose steps run.
type Dispatcher struct {
	*dispatcher.Dispatcher
	t     testing.TB
	db    *pgxpool.Pool
	log   *ledger.Table
	steps map[string]*step
	stop  func()
}

// step runs once at a time.
type step struct {
	dispatcher.Step
	sync.Mutex
}

// daemons numbers those of this process.
var daemons atomic.Int64

// Within bounds all waits.
const Within = 2 * time.Minute

// Open starts a dispatcher. Its configuration may be changed before.
func Open(t testing.TB, db *pgxpool.Pool, store *site.Store, with ...func(*dispatcher.Config)) *Dispatcher {
	t.Helper()
	cfg := dispatcher.Config{Pool: db, Site: store.At, Outbox: intake.NewOutbox(db), Daemon: daemons.Add(1), Timing: Timing, Alone: func() bool { return true }}
	for _, change := range with {
		change(&cfg)
	}
	opened, err := dispatcher.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &Dispatcher{Dispatcher: opened, t: t, db: db, log: ledger.New(db), steps: map[string]*step{}}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	d.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(d.stop)
	all.Go(func() { d.Run(ctx) })
	d.Until("somebody leads", func() bool { return d.Leader() > 0 })
	for _, s := range d.Steps() {
		mine := &step{Step: s}
		d.steps[s.Name] = mine
		all.Go(func() { d.repeat(ctx, mine) })
	}
	version, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.Until("the site is known", func() bool { return version.Number == 0 || d.Known(version.Number) != nil })
	return d
}

// In is the dispatcher as a subtest uses it, which is over before the test that opened it.
func (d *Dispatcher) In(t testing.TB) *Dispatcher {
	same := *d
	same.t = t
	return &same
}

// Stop ends the dispatcher before the test ends.
func (d *Dispatcher) Stop() { d.stop() }

// repeat runs a step until ctx ends, those that tests wait for often.
func (d *Dispatcher) repeat(ctx context.Context, s *step) {
	every := min(s.Every, 200*time.Millisecond)
	switch {
	case s.Every > 5*time.Second:
		every = s.Every
	case s.Name == "fold", s.Name == "learn", s.Name == "judge":
		every = 30 * time.Millisecond
	}
	for ctx.Err() == nil {
		s.Lock()
		_, err := s.Run(ctx)
		s.Unlock()
		if err != nil && ctx.Err() == nil && !errors.Is(err, dispatcher.ErrUnavailable) && !errors.Is(err, dispatcher.ErrStopping) {
			d.t.Errorf("step %s: %v", s.Name, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// Step runs a step now.
func (d *Dispatcher) Step(name string) {
	d.t.Helper()
	s, ok := d.steps[name]
	if !ok {
		d.t.Fatalf("no step is called %s", name)
	}
	s.Lock()
	defer s.Unlock()
	_, err := s.Run(d.t.Context())
	d.must(err)
}

// Settle waits until the log has the outbox, the machine the log and the tables as well, and runs the rules until they find nothing to do.
func (d *Dispatcher) Settle() {
	d.t.Helper()
	ctx, outbox := d.t.Context(), intake.NewOutbox(d.db)
	folder, rules := fold.New(d.db, d.log, nil), []*step{d.steps["learn"], d.steps["judge"]}
	for _, s := range rules {
		s.Lock()
		defer s.Unlock()
	}
	for did := 1; did > 0; {
		did = 0
		d.Written()
		d.Until("the outbox is empty", func() bool {
			rows, err := outbox.Pending(ctx, 1)
			d.must(err)
			return len(rows) == 0
		})
		last, _, err := d.log.Last(ctx)
		d.must(err)
		d.Until("the tables have the log", func() bool {
			_, err := d.Fold(ctx, 1000)
			d.must(err)
			p, err := folder.Position(ctx)
			d.must(err)
			return p.Seq > last // the rules look at what a later batch has left behind
		})
		d.must(d.Follow(ctx))
		for _, s := range rules {
			n, err := s.Run(ctx)
			d.must(err)
			did += n
		}
	}
}

func (d *Dispatcher) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// Until waits for what is to happen soon, and looks less often the longer that takes.
func (d *Dispatcher) Until(what string, is func() bool) {
	d.t.Helper()
	deadline := time.After(Within)
	for rest := 2 * time.Millisecond; !is(); rest = min(rest*5/4, 25*time.Millisecond) {
		select {
		case <-time.After(rest):
		case <-deadline:
			d.t.Fatalf("not within %v: %s", Within, what)
		}
	}
}
