package day

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// pilots are the nodes of the site and what they have in common.
type pilots struct {
	Day
	client   *client.Client
	nodes    []*node
	signals  signals
	counts   counters
	waits    waits // of the pulls that brought jobs while jobs end
	attempts attempts
	from     counts    // when the day began
	began    time.Time // then
}

// signals are what the nodes are told.
type signals struct {
	closing  chan struct{}                 // nothing more is pulled
	stopping chan struct{}                 // nor renewed
	moving   atomic.Bool                   // jobs may end
	moves    atomic.Pointer[chan struct{}] // closed when moving changes
}

// counters are of all nodes together.
type counters struct {
	granted  atomic.Int64
	ended    atomic.Int64 // whatever became of them
	finished atomic.Int64
	failed   atomic.Int64
	renewed  atomic.Int64
	calls    atomic.Int64
	refused  atomic.Int64 // pulls that were told to come again: the daemon could not serve
	pulling  atomic.Int64 // pulls under way
}

// counts are counters at a moment.
type counts struct{ granted, finished, failed, renewed, calls int64 }

func (c *counters) now() counts {
	return counts{c.granted.Load(), c.finished.Load(), c.failed.Load(), c.renewed.Load(), c.calls.Load()}
}

// running is how many jobs run, as the pilots know; what is on its way to them does not.
func (c *counters) running() int64 { return c.granted.Load() - c.ended.Load() }

// attempts are those that were granted, and what was wrong with them.
type attempts struct {
	mu    sync.Mutex
	seen  recount.Once
	dead  map[int64]bool // that pilots died with
	wrong []error        // at most ten
}

// key is a number for an attempt; those of the day are fewer than eight a job.
func key(job int64, attempt int) int64 { return job*8 + int64(attempt) }

func (a *attempts) problem(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wrong) < 10 {
		a.wrong = append(a.wrong, fmt.Errorf(format, args...))
	}
}

// granted remembers attempts: none twice.
func (a *attempts) granted(leases []wire.Lease) {
	for _, l := range leases {
		a.mu.Lock()
		err := a.seen.Add(key(l.Job, l.Attempt))
		a.mu.Unlock()
		if err != nil {
			a.problem("attempt %d of job %d was given to two slots", l.Attempt, l.Job)
		}
	}
}

// die forgets a lease as a pilot that is gone does.
func (a *attempts) die(key int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead == nil {
		a.dead = map[int64]bool{}
	}
	a.dead[key] = true
}

// trouble is what a pilot was told that it should not have been.
func (a *attempts) trouble() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return recount.Failed(a.wrong...)
}

// waits are how long pulls took that brought jobs.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
}

// take is those since it was last called.
func (w *waits) take() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.all
	w.all = nil
	return out
}

func newPilots(d Day, plan stage.Plan, c *client.Client) *pilots {
	p := &pilots{Day: d, client: c, signals: signals{closing: make(chan struct{}), stopping: make(chan struct{})}}
	wake := make(chan struct{})
	p.signals.moves.Store(&wake)
	for q := range d.Queues {
		for first := 0; first < plan.Slots; first += d.Node {
			n := &node{pilots: p, queue: plan.Queue(q), free: min(d.Node, plan.Slots-first),
				name: fmt.Sprintf("%s-%d", plan.Queue(q), first/d.Node), pulled: make(chan pulled, 1)}
			n.rand = rand.New(rand.NewPCG(d.Seed, uint64(len(p.nodes))))
			p.nodes = append(p.nodes, n)
		}
	}
	return p
}

// run works the nodes until stop, or until one of them cannot go on.
func (p *pilots) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, n := range p.nodes {
		group.Go(func() error { return n.run(ctx) })
	}
	return group.Wait()
}

// begin notes where the day begins: what filled the slots does not count.
func (p *pilots) begin() {
	p.from = p.counts.now()
	p.waits.mu.Lock()
	defer p.waits.mu.Unlock()
	p.began = time.Now()
}

// beganAt is when the day began; zero while the slots are filled.
func (p *pilots) beganAt() time.Time {
	p.waits.mu.Lock()
	defer p.waits.mu.Unlock()
	return p.began
}

// move lets jobs end, or keeps them from it.
func (p *pilots) move(yes bool) {
	p.signals.moving.Store(yes)
	wake := make(chan struct{})
	close(*p.signals.moves.Swap(&wake))
}

// close ends the pulls; what runs is renewed until stop.
func (p *pilots) close() { close(p.signals.closing) }

func (p *pilots) stop() { close(p.signals.stopping) }

// held are the attempts that nodes run now.
func (p *pilots) held() map[int64]bool {
	keys := map[int64]bool{}
	for _, n := range p.nodes {
		for _, j := range n.jobs {
			keys[j.key] = true
		}
	}
	return keys
}
