package dispatcher

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// mostGrants bounds a batch: a statement of this size still takes only milliseconds.
const mostGrants = 512

// kick tells the lease workers that there may be something to decide.
func (d *Dispatcher) kick() {
	select {
	case d.kicks <- struct{}{}:
	default:
	}
	select {
	case d.helps <- struct{}{}:
	default:
	}
}

// leaseLoop is the first of the two workers that lease: decide what has gathered, lease it, again.
func (d *Dispatcher) leaseLoop(ctx context.Context, own func() *lane) {
	for {
		var tend <-chan time.Time
		if d.tendLane(ctx, own()) {
			tend = time.After(tendPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.kicks:
		case <-tend:
		}
		for d.leaseOnce(ctx, own()) {
		}
	}
}

// tendPause is the pause between two attempts to resolve a lane in doubt that has no work.
const tendPause = 100 * time.Millisecond

// tendLane resolves a lane in doubt: its jobs are in nobody's hands until then, and when they are the last ones
// there is no grant to come that would do it. It returns true while the doubt lasts.
func (d *Dispatcher) tendLane(ctx context.Context, l *lane) bool {
	if !l.doubt || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timing.Statement)
	defer cancel()
	return d.resolveLane(ctx, l) != nil
}

func (d *Dispatcher) leaseOnce(ctx context.Context, l *lane) (more bool) {
	runtime.Gosched() // pulls that are just being read join this batch; when there are none it costs nothing
	n := newNeeds(l.no)
	d.mu.Lock()
	// It may have started anew since the caller asked for its lane. On the former one nothing can be granted, and were it left in
	// doubt nobody would resolve it: the jobs would stay in flight.
	l = d.lanes[l.no]
	if d.state.claims.news {
		d.reclass()
	}
	began := time.Now()
	batch := d.line.next(d, mostGrants, n)
	if len(batch) > 0 {
		d.metrics.deciding.Observe(time.Since(began).Seconds())
	}
	for _, p := range batch {
		for _, g := range p.grants {
			if g.window.wantsRead() {
				n.windows[g.window] = true
			}
		}
	}
	epoch := d.state.epoch
	left := len(d.line.awake) > 0
	if l.no == firstGrantLane {
		d.firstBegan = time.Time{}
		if len(batch) > 0 {
			d.firstBegan = time.Now()
		}
	}
	d.mu.Unlock()
	d.satisfy(n)
	if left {
		d.kick() // the other worker may go on
	}
	if len(batch) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timing.Statement)
	defer cancel()
	d.lease(ctx, l, leaseBatch{pulls: batch, epoch: epoch, decided: began})
	return true
}

// leaseBatch is what one statement leases.
type leaseBatch struct {
	pulls []*pull
	epoch int64 // of the limits that it was decided by

	decided time.Time // when its decision began
}

// has says whether a grant is one of the batch.
func (b leaseBatch) has(g *grant) bool {
	return slices.ContainsFunc(b.pulls, func(p *pull) bool { return slices.Contains(p.grants, g) })
}

// size is the number of its grants.
func (b leaseBatch) size() (n int) {
	for _, p := range b.pulls {
		n += len(p.grants)
	}
	return n
}

func (d *Dispatcher) lease(ctx context.Context, l *lane, b leaseBatch) {
	if l.doubt {
		if err := d.resolveLane(ctx, l); err != nil {
			d.failBatch(b, err)
			return
		}
	}
	took, current, err := d.execLease(ctx, l, b)
	switch {
	case err == nil && current:
		d.settleBatch(ctx, l, b, took)
	case err == nil:
		d.metrics.outdated.Inc()
		d.tryAgain(b)
		if _, err := d.Refresh(ctx); err != nil {
			d.cfg.Log.Warn("limits are out of date and cannot be read", "err", err)
		}
	case pg.IsRetryable(err):
		d.tryAgain(b)
	case uncertain(err):
		d.doubts(l, b)
		d.mu.Lock()
		for _, p := range b.pulls {
			d.finishPull(p, nil, err)
		}
		d.mu.Unlock()
	default:
		d.failBatch(b, err)
	}
}

// taken is which grants of a batch were leased.
type taken struct {
	all    bool
	nonces map[int64]bool // when not all
}

func (t taken) has(nonce int64) bool { return t.all || t.nonces[nonce] }

func (t taken) any() bool { return t.all || len(t.nonces) > 0 }

// execLease leases all of the batch, or, when that fails on one of its jobs, what can be leased.
func (d *Dispatcher) execLease(ctx context.Context, l *lane, b leaseBatch) (took taken, current bool, err error) {
	start := time.Now()
	ctx, ended := b.trace(ctx)
	defer func() { ended(err) }()
	a := newLeaseArgs(b, true)
	err = d.leaseAll(ctx, l, b, a)
	switch code := pg.Code(err); {
	case err == nil:
		took, current = taken{all: true}, true
	case code == uniqueViolation || code == notNullViolation:
		d.metrics.contended.Inc()
		if len(a.claims.ids) > 0 {
			a = newLeaseArgs(b, false) // they are decided again: where their claims are has to be read first
		}
		took.nonces, current, err = d.leaseSome(ctx, l, b, a)
	}
	d.metrics.batch.Observe(float64(len(a.jobs)))
	d.metrics.leasing.Observe(time.Since(start).Seconds())
	return took, current, err
}

// How lease_all and remember say that it is not all or nothing this time: SQLSTATEs.
const (
	uniqueViolation  = "23505"
	notNullViolation = "23502"
)

// leaseAll sends lock, request ids and leases in one round trip; they are one transaction.
func (d *Dispatcher) leaseAll(ctx context.Context, l *lane, b leaseBatch, a *leaseArgs) (err error) {
	var batch pgx.Batch
	batch.Queue(query["lease_lock"], pg.Args{"class": pg.LockGrants, "nestloop": "on", "hashjoin": "off"})
	if len(a.keys) > 0 {
		batch.Queue(query["remember"], pg.Args{"jobs": a.jobs, "nonces": a.nonces,
			"keys": a.keys, "hashes": a.hashes, "lows": a.lows, "highs": a.highs})
	}
	if len(a.claims.ids) > 0 {
		batch.Queue(query["bind_claims"], a.claims.args())
	}
	batch.Queue(query["lease_all"], pg.Args{
		"daemon": l.daemon, "lane": l.no, "seq": l.seq + 1, "epoch": b.epoch, "ttl_s": int(d.cfg.Timing.FirstTTL.Seconds()),
		"jobs": a.jobs, "attempts": a.attempts, "nonces": a.nonces, "queues": a.queues, "units": a.units, "cores": a.cores,
		"pilots": a.pilots, "nodes": a.nodes, "rows": a.rows, "tasks": a.tasks, "shares": a.shares, "shapes": a.shapes, "befores": a.befores,
	})
	return d.cfg.Pool.SendBatch(ctx, &batch).Close()
}

// leaseSome is leaseAll for a batch with which somebody else interferes: what is left of it is leased.
func (d *Dispatcher) leaseSome(ctx context.Context, l *lane, b leaseBatch, a *leaseArgs) (nonces map[int64]bool, current bool, err error) {
	var batch pgx.Batch
	batch.Queue(query["lease_lock"], pg.Args{"class": pg.LockGrants, "nestloop": "off", "hashjoin": "on"})
	batch.Queue(query["lease"], pg.Args{
		"daemon": l.daemon, "lane": l.no, "seq": l.seq + 1, "epoch": b.epoch, "ttl_s": int(d.cfg.Timing.FirstTTL.Seconds()),
		"jobs": a.jobs, "attempts": a.attempts, "nonces": a.nonces, "pulls": a.pulls, "queues": a.queues, "units": a.units,
		"cores": a.cores, "asked": a.asked, "keys": a.keys, "hashes": a.hashes, "pilots": a.pilots, "nodes": a.nodes,
		"shares": a.shares, "shapes": a.shapes,
	})
	results := d.cfg.Pool.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err = results.Exec(); err != nil {
		return nil, false, err
	}
	var got []int64
	if err = results.QueryRow().Scan(&current, &got); err != nil {
		return nil, false, err
	}
	nonces = make(map[int64]bool, len(got))
	for _, nonce := range got {
		nonces[nonce] = true
	}
	return nonces, current, nil
}
