package dispatcher

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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
	if d.state.claims.news {
		d.reclass()
	}
	batch := d.line.next(d, mostGrants, n)
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
	d.lease(ctx, l, leaseBatch{pulls: batch, epoch: epoch})
	return true
}

// leaseBatch is what one statement leases.
type leaseBatch struct {
	pulls []*pull
	epoch int64 // of the limits that it was decided by
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
		l.doubt, l.pending = true, b
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

// leaseArgs are the columns of a batch: one element a grant, pull by pull; asked, keys, hashes, lows and highs one a
// pull with a request id. What claims hold that the batch binds comes behind the grants, in the columns of the ledger's row.
type leaseArgs struct {
	jobs, nonces, units, tasks             []int64
	attempts, pulls, queues, cores, shapes []int32
	shares                                 []int32
	pilots, nodes                          []string
	rows                                   []pgtype.TID

	asked, lows, highs []int32 // the pull's number; its grants, from 1
	keys               [][16]byte
	hashes             [][]byte

	claims  claimArgs
	befores []string // states before the moves; one for all unless there are claims that hold something
}

func newLeaseArgs(b leaseBatch, withClaims bool) *leaseArgs {
	n := b.size()
	int8s, int4s, texts := columns[int64](n), columns[int32](n), columns[string](n)
	a := &leaseArgs{jobs: int8s(), nonces: int8s(), units: int8s(), tasks: int8s(),
		attempts: int4s(), pulls: int4s(), queues: int4s(), cores: int4s(), shapes: int4s(), shares: int4s(),
		pilots: texts(), nodes: texts(), rows: make([]pgtype.TID, 0, n)}
	for i, p := range b.pulls {
		low := len(a.jobs) + 1
		for _, g := range p.grants {
			if g.job.claims != nil {
				if !withClaims {
					continue
				}
				a.claims.add(g)
			}
			a.jobs, a.attempts, a.nonces = append(a.jobs, g.job.id), append(a.attempts, g.job.attempt), append(a.nonces, g.nonce)
			a.pulls, a.queues, a.units = append(a.pulls, int32(i)), append(a.queues, int32(g.queue.ID)), append(a.units, int64(g.units))
			a.cores, a.tasks = append(a.cores, int32(g.window.shape.need.Cores)), append(a.tasks, g.job.task)
			a.shares, a.shapes = append(a.shares, int32(g.window.key.share)), append(a.shapes, g.window.key.shape)
			a.pilots, a.nodes = append(a.pilots, p.req.Pilot), append(a.nodes, p.req.Node)
			a.rows = append(a.rows, g.job.row)
		}
		if p.hash != nil {
			a.asked, a.keys, a.hashes = append(a.asked, int32(i)), append(a.keys, p.key), append(a.hashes, p.hash)
			a.lows, a.highs = append(a.lows, int32(low)), append(a.highs, int32(len(a.jobs)))
		}
	}
	a.befores = allReady
	if withClaims && len(a.claims.ids) > 0 {
		a.addCharges(b)
	}
	return a
}

// allReady is a column of the ledger that says ready for every move.
var allReady = []string{isReady}

// addCharges adds what the claims hold that the batch binds.
func (a *leaseArgs) addCharges(b leaseBatch) {
	var moves []move
	for _, p := range b.pulls {
		for _, g := range p.grants {
			moves = append(moves, g.charges()...)
		}
	}
	if len(moves) == 0 {
		return
	}
	a.befores = slices.Repeat(allReady, len(a.jobs))
	for _, m := range moves {
		a.befores, a.tasks, a.shares = append(a.befores, m.Before), append(a.tasks, m.Task), append(a.shares, int32(m.Share))
		a.shapes, a.queues, a.units = append(a.shapes, m.Shape), append(a.queues, int32(m.Queue)), append(a.units, int64(m.Units))
	}
}

// columns makes empty columns that have room for n.
func columns[T any](n int) func() []T { return func() []T { return make([]T, 0, n) } }

// settleBatch answers the pulls of a committed batch. Grants that were not leased go back: somebody else was
// faster, or the pull repeats one whose leases are kept.
func (d *Dispatcher) settleBatch(ctx context.Context, l *lane, b leaseBatch, took taken) {
	leases, err := d.leasesOf(ctx, b, took)
	expiry, leased := time.Now().Add(d.cfg.Timing.FirstTTL), make([]int64, 0, b.size())
	d.mu.Lock()
	defer d.mu.Unlock()
	if took.any() {
		l.seq++
		d.keepNotes(l, b, took.has)
	}
	for i, p := range slices.Backward(b.pulls) { // places in turn, and in the line, are given back from the last one
		for _, g := range slices.Backward(p.grants) {
			if !took.has(g.nonce) {
				d.giveBack(g)
				continue
			}
			delete(g.of.inflight, g.job.id)
			g.heldClaims()
			leased = append(leased, g.job.id)
		}
		switch {
		case err != nil:
			d.finishPull(p, nil, err)
		case len(leases[i]) > 0:
			d.filled(p)
			d.finishPull(p, leases[i], nil)
		case p.hash != nil && p.recall == notRecalled:
			p.grants, p.recall, p.aside = nil, recalling, true
			d.work.Go(func() { d.recallPull(p) })
		default:
			d.line.again(d, p)
		}
	}
	d.wheel.add(expiry, leased...)
	if len(d.line.awake) > 0 {
		d.kick()
	}
}

// leasesOf are the leases of each pull, all in one piece of memory.
func (d *Dispatcher) leasesOf(ctx context.Context, b leaseBatch, took taken) (of [][]Lease, err error) {
	of = make([][]Lease, len(b.pulls))
	all := make([]Lease, 0, b.size())
	for i, p := range b.pulls {
		first := len(all)
		for _, g := range p.grants {
			if !took.has(g.nonce) {
				continue
			}
			lease, err := d.leaseOf(ctx, g)
			if err != nil {
				return nil, err
			}
			all = append(all, lease)
		}
		of[i] = all[first:len(all):len(all)]
	}
	return of, nil
}

// giveBack undoes a grant that did not come true; the job is looked for again at the next refresh.
func (d *Dispatcher) giveBack(g *grant) {
	d.metrics.conflicts.Inc()
	g.takeBack()
	g.doubtClaims()
	w := g.window
	if w.private {
		w = g.of.windows[w.key]
	}
	if w != nil {
		w.doubt = append(w.doubt, span{g.job.place, g.job.id, g.job.id})
	}
}

// filled notes that the pilot's offer was taken up.
func (d *Dispatcher) filled(p *pull) {
	if q := d.state.byName[p.req.Queue]; q != nil {
		last := q.pilots[p.req.Pilot]
		for _, g := range p.grants {
			last.unfilled = max(0, last.unfilled-g.units)
		}
		q.pilots[p.req.Pilot] = last
	}
}

// tryAgain puts a batch that took nothing back: its jobs into their windows, its pulls into the line.
func (d *Dispatcher) tryAgain(b leaseBatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(b.pulls) - 1; i >= 0; i-- {
		d.unGrant(b.pulls[i])
		d.line.again(d, b.pulls[i])
	}
	d.kick()
}

// failBatch is tryAgain for an error that will not pass by itself: the pulls are answered with it.
func (d *Dispatcher) failBatch(b leaseBatch, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range slices.Backward(b.pulls) {
		d.unGrant(p)
		d.finishPull(p, nil, err)
	}
}

// unGrant returns the jobs of a pull to the heads of their windows.
func (d *Dispatcher) unGrant(p *pull) {
	for i := len(p.grants) - 1; i >= 0; i-- {
		g := p.grants[i]
		g.takeBack()
		g.window.insert(g.job)
		if g.window.private { // the common one has lost sight of it
			if w := g.of.windows[g.window.key]; w != nil {
				w.announce(span{g.job.place, g.job.id, g.job.id})
				d.state.check(w)
			}
			continue
		}
		d.state.check(g.window)
	}
	p.grants = nil
}

// resolveLane settles a batch whose fate was unknown: what was counted for it is taken back, and what the ledger
// says is counted instead.
func (d *Dispatcher) resolveLane(ctx context.Context, l *lane) error {
	moves, err := d.resolve(ctx, l)
	if err == nil {
		d.settleDoubt(l, moves)
	}
	return err
}

// settleDoubt counts what became of the batch in doubt.
func (d *Dispatcher) settleDoubt(l *lane, moves []move) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range slices.Backward(l.pending.pulls) {
		for _, g := range slices.Backward(p.grants) {
			d.giveBack(g)
		}
	}
	l.settled()
	if !d.owns(l) {
		return
	}
	for _, m := range moves {
		d.state.apply(m, l.seq > d.base[l.no])
	}
	d.state.diary.saw(l.daemon, l.no, l.seq)
}
