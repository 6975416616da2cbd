package dispatcher

import (
	"context"
	"slices"
	"time"
)

// settleBatch answers the pulls of a committed batch. Grants that were not leased go back: somebody else was
// faster, or the pull repeats one whose leases are kept.
func (d *Dispatcher) settleBatch(ctx context.Context, l *lane, b leaseBatch, took taken) {
	leases, err := d.leasesOf(ctx, b, took)
	now := time.Now()
	expiry, leased := now.Add(d.cfg.Timing.FirstTTL), make([]int64, 0, b.size())
	d.mu.Lock()
	defer d.mu.Unlock()
	if took.any() {
		l.seq++
		d.keepNotes(l, b, took.has)
		d.lately.granted(d.state, l, b, took.has)
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
			of, _ := d.payloads.cached(g.job.task)
			d.metrics.jobWait.leased(g, of, now)
		}
		switch {
		case err != nil:
			d.finishPull(p, nil, err)
		case len(leases[i]) > 0:
			d.filled(p)
			d.metrics.pullWait.Observe(now.Sub(p.arrived).Seconds())
			d.finishPull(p, leases[i], nil)
		case p.hash != nil && p.recall == notRecalled:
			p.grants, p.aside = nil, true
			d.lookUp(p)
		default:
			d.line.again(d, p)
		}
	}
	d.granted.Add(int64(len(leased)))
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
	g.of.diary.tape.tookBack(g, true)
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
		last, known := q.pilots[p.req.Pilot]
		if !known {
			return
		}
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
		g.of.diary.tape.tookBack(g, false)
		g.window.insert(g.job)
		if g.window.private { // the common one has lost sight of it
			if w := g.of.windows[g.window.key]; w != nil {
				w.announce(span{g.job.place, g.job.id, g.job.id})
				g.of.check(w)
			}
			continue
		}
		g.of.check(g.window)
	}
	p.grants = nil
}

// doubts notes that nobody knows whether a batch was leased.
func (d *Dispatcher) doubts(l *lane, b leaseBatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.doubt, l.pending = true, b
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
		d.state.diary.tape.moves(d.state, m)
		d.state.apply(m, l.seq > d.base[l.no])
	}
	d.state.diary.saw(l.daemon, l.no, l.seq)
}
