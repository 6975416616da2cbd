package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/dispatcher"
)

// dayPilots are the nodes of the site and what they have counted together.
type dayPilots struct {
	Day
	client *client.Client
	nodes  []*dayNode

	closing  chan struct{}                 // nothing more is pulled
	stopping chan struct{}                 // nor renewed
	pulling  atomic.Int64                  // pulls under way
	moving   atomic.Bool                   // jobs may end
	moves    atomic.Pointer[chan struct{}] // closed when moving changes
	granted  atomic.Int64
	ended    atomic.Int64 // whatever became of them
	finished atomic.Int64
	failed   atomic.Int64
	renewed  atomic.Int64
	calls    atomic.Int64
	refused  atomic.Int64 // pulls that were told to come again: the daemon could not serve
	waits    waits        // of the pulls that brought jobs while jobs end

	mu     sync.Mutex
	seen   bitmap         // attempts that were granted
	dead   map[int64]bool // attempts that pilots died with
	wrong  []error        // at most ten
	counts dayCounts      // when the day began
	began  time.Time
}

// dayCounts are counters at a moment.
type dayCounts struct{ granted, finished, failed, renewed, calls int64 }

func (p *dayPilots) now() dayCounts {
	return dayCounts{p.granted.Load(), p.finished.Load(), p.failed.Load(), p.renewed.Load(), p.calls.Load()}
}

// running is how many jobs run, as the pilots know; what is on its way to them does not.
func (p *dayPilots) running() int64 { return p.granted.Load() - p.ended.Load() }

func (r *dayRun) newPilots() *dayPilots {
	p := &dayPilots{Day: r.Day, client: r.client, closing: make(chan struct{}), stopping: make(chan struct{}), dead: map[int64]bool{}}
	wake := make(chan struct{})
	p.moves.Store(&wake)
	size := r.plan.slots
	for q := range r.Queues {
		for first := 0; first < size; first += r.Node {
			n := &dayNode{dayPilots: p, queue: r.plan.queue(q), free: min(r.Node, size-first),
				name: fmt.Sprintf("%s-%d", r.plan.queue(q), first/r.Node), pulled: make(chan pulledJobs, 1)}
			n.rand = rand.New(rand.NewPCG(r.Seed, uint64(len(p.nodes))))
			p.nodes = append(p.nodes, n)
		}
	}
	return p
}

// run works the nodes until stop, or until one of them cannot go on.
func (p *dayPilots) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, n := range p.nodes {
		group.Go(func() error { return n.run(ctx) })
	}
	return group.Wait()
}

// begin notes where the day begins: what filled the slots does not count.
func (p *dayPilots) begin() {
	p.counts = p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = time.Now()
}

// beganAt is when the day began; zero while the slots are filled.
func (p *dayPilots) beganAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began
}

// move lets jobs end, or keeps them from it.
func (p *dayPilots) move(yes bool) {
	p.moving.Store(yes)
	wake := make(chan struct{})
	close(*p.moves.Swap(&wake))
}

// close ends the pulls; what runs is renewed until stop.
func (p *dayPilots) close() { close(p.closing) }

func (p *dayPilots) stop() { close(p.stopping) }

func (p *dayPilots) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wrong) < 10 {
		p.wrong = append(p.wrong, fmt.Errorf(format, args...))
	}
}

// note remembers attempts that were granted: none twice.
func (p *dayPilots) note(leases []client.Lease) {
	p.granted.Add(int64(len(leases)))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range leases {
		if err := p.seen.add(attemptKey(l.Job, l.Attempt)); err != nil && len(p.wrong) < 10 {
			p.wrong = append(p.wrong, fmt.Errorf("attempt %d of job %d was given to two slots", l.Attempt, l.Job))
		}
	}
}

// die forgets a lease as a pilot that is gone does.
func (p *dayPilots) die(j dayJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead[j.key] = true
}

// attemptKey is a number for an attempt; those of the day are fewer than eight a job.
func attemptKey(job int64, attempt int) int64 { return job*8 + int64(attempt) }

// dayNode is one node: it pulls for all slots that are free, and renews and finishes for all that are not.
type dayNode struct {
	*dayPilots
	name, queue string
	rand        *rand.Rand
	free        int
	jobs        []dayJob
	renewAt     time.Time
	waiting     bool // for its pull
	pulled      chan pulledJobs
	pulls       int
}

// dayJob is a job that runs there.
type dayJob struct {
	lease string
	key   int64 // of the attempt
	ends  time.Time
	fate  client.Outcome
}

type pulledJobs struct {
	reply client.PullReply
	err   error
}

// pullWait is how long a pull waits for a job: what the end of the day has to wait for as well.
const pullWait = 5 * time.Second

func (n *dayNode) run(ctx context.Context) error {
	// Nodes of a site do not start in the same second.
	timer := time.NewTimer(time.Duration(n.rand.Float64() * float64(n.Lease) / 10))
	defer timer.Stop()
	for {
		wake := *n.moves.Load()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.stopping:
			return nil
		case got := <-n.pulled:
			if err := n.start(got); err != nil {
				return err
			}
		case <-wake:
		case <-timer.C:
		}
		if err := n.due(ctx); err != nil {
			return err
		}
		n.pull(ctx)
		timer.Reset(time.Until(n.next()))
	}
}

// pull asks for as many jobs as there are free slots, one call at a time.
func (n *dayNode) pull(ctx context.Context) {
	select {
	case <-n.closing:
		return
	default:
	}
	if n.waiting || n.free == 0 {
		return
	}
	n.waiting, n.pulls = true, n.pulls+1
	n.pulling.Add(1)
	req := client.PullRequest{Queue: n.queue, Pilot: n.name, Node: n.name, Slot: client.Slot{Cores: n.free}, Max: n.free,
		WaitS: pullWait.Seconds(), RequestID: fmt.Sprint(n.name, " ", n.pulls)}
	go func() {
		for {
			n.calls.Add(1)
			asked := time.Now()
			reply, err := n.client.Pull(ctx, req)
			if err == nil && n.moving.Load() {
				n.waits.add(time.Since(asked))
			}
			if client.IsUnavailable(err) && wait(ctx, max(time.Second, client.RetryAfter(err))) == nil {
				n.refused.Add(1)
				continue // the same request: what it may have been given is not lost
			}
			n.pulled <- pulledJobs{reply, err}
			return
		}
	}()
}

// start runs what a pull has brought, and draws how each will end.
func (n *dayNode) start(got pulledJobs) error {
	n.waiting = false
	defer n.pulling.Add(-1)
	if errors.Is(got.err, client.ErrNoJobs) {
		return nil
	}
	if got.err != nil {
		return got.err
	}
	n.note(got.reply.Leases)
	now := time.Now()
	if len(n.jobs) == 0 || n.renewAt.IsZero() {
		n.renewAt = now.Add(time.Duration((0.5 + n.rand.Float64()/2) * got.reply.RenewAfter * float64(time.Second)))
	}
	for _, l := range got.reply.Leases {
		job := dayJob{lease: l.Lease, key: attemptKey(l.Job, l.Attempt), fate: dispatcher.Finished, ends: now.Add(time.Duration(n.rand.ExpFloat64() * float64(n.fast(n.MeanJob))))}
		switch x := n.rand.Float64(); {
		case x < n.Lose:
			job.fate = dispatcher.Lost
		case x < n.Lose+n.Fail:
			job.fate = dispatcher.Failed
		}
		n.jobs = append(n.jobs, job)
	}
	n.free -= len(got.reply.Leases)
	return nil
}

// next is when something is to be done without being called.
func (n *dayNode) next() time.Time {
	at := n.renewAt
	if len(n.jobs) == 0 {
		at = time.Now().Add(time.Hour)
	}
	if n.moving.Load() {
		for _, j := range n.jobs {
			if j.ends.Before(at) {
				at = j.ends
			}
		}
	}
	return at
}
