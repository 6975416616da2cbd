package lease

import (
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// tick lets time pass in the log each second. A leader that has nothing to say is heard, too.
func (l *leader) tick() {
	if due := l.ticked + l.cfg.Timing.Tick; l.now < due {
		l.wakeBy(due)
		return
	}
	l.ticked, l.force = l.now, true
	if l.tip.at.After(l.machine.Now()) {
		l.must(l.add(entry.Tick{Now: l.tip.at, Offered: l.supply.offers()}))
	}
	l.supply.unpoll(l)
	l.wakeBy(l.now + l.cfg.Timing.Tick)
}

// stands says where pools stand, for machines that are made of tables.
func (l *leader) stands() {
	if l.stand <= l.now {
		l.stand = l.now + l.cfg.Timing.Stood
		for _, e := range l.machine.Stood() {
			l.must(l.add(e))
		}
	}
}

// must reports an error that can only be one of the machine.
func (l *leader) must(err error) {
	if err != nil {
		l.emit(Broken{l.seq(), err})
	}
}

// depart appends what has gathered when nothing is in flight.
func (l *leader) depart() {
	if f := l.flight; f != nil {
		f.resend(l.desk)
		return
	}
	if len(l.next.batch.Entries) == 0 && !l.force {
		return
	}
	if asked, ok := l.next.asks.Entry(); ok {
		l.next.batch.Entries = append(l.next.batch.Entries, asked)
	}
	f := l.next
	f.batch.Seq, f.batch.After, f.batch.ID, f.batch.By = l.tip.seq+1, l.tip.id, l.cfg.Draw(), l.cfg.Daemon
	f.began, f.pause = l.now, l.cfg.Timing.Retry
	l.flight, l.next, l.force = &f, flight{}, false
	l.emit(Append{f.batch, f.beside})
}

// appended takes the log's word on the flight; false: the daemon is deposed.
func (l *leader) appended(e Appended) bool {
	f := l.flight
	if f == nil || f.batch.ID != e.ID {
		return true
	}
	switch {
	case e.Err == nil:
		l.land(e.At)
	case errors.Is(e.Err, ledger.ErrGap), errors.Is(e.Err, ledger.ErrGone):
		return false
	case errors.Is(e.Err, ledger.ErrTaken):
		f.read = true
		l.emit(Read{f.batch.Seq - 1})
	default: // in doubt, or not written: the same again is right for both
		f.retry(l.now, l.cfg.Timing.Retry)
	}
	return true
}

// retry lets the flight be appended again after a pause.
func (f *flight) retry(now, pause time.Duration) {
	f.again = now + f.pause
	f.pause = min(2*f.pause, 8*pause)
}

// resend appends the flight again when its time has come.
func (f *flight) resend(d *desk) {
	switch {
	case f.again == 0:
	case f.again <= d.now:
		f.again = 0
		d.emit(Append{f.batch, f.beside})
	default:
		d.wakeBy(f.again)
	}
}

// land makes the flight part of the log.
func (l *leader) land(at time.Time) {
	f := l.flight
	f.batch.At = at
	l.committed(f.batch, l.now)
	l.push(f.batch)
	l.outbox.committed(&f.beside)
	of, before := &l.cfg.Timing, l.confirmed
	l.flight, l.confirmed = nil, max(l.confirmed, f.began)
	if l.now-f.began >= of.Stopped || l.now-before >= of.Stopped+of.Tick { // a stop and an append that are shorter add up
		l.leases.spare(l.now + of.Grace)
	}
	l.counted.Append((l.now - f.began).Seconds(), f.grants, f.ends)
	for _, p := range f.pulls {
		l.counted.Pull((l.now - p.since).Seconds())
		for _, lease := range p.leases {
			l.leases.prolong(lease.Job, l.now+l.cfg.Timing.First)
		}
		if p.unheard && p.pull.Request == (entry.ID{}) && !l.outbox.spoil && !l.turn.yielding {
			for _, lease := range p.leases {
				if lease, ok := l.live(keyOf(lease)); ok {
					l.endLease(lease, End{Key: keyOf(lease), Outcome: entry.Returned})
				}
			}
		}
	}
}

// told ends the doubt about a flight whose seq is taken, by what the log has after the batch before it; false: the daemon is deposed.
func (l *leader) told(e Fetched) bool {
	f := l.flight
	if f == nil || !f.read || e.After != f.batch.Seq-1 {
		return true
	}
	f.read = false
	switch {
	case e.Err != nil && errors.Is(e.Err, ledger.ErrDropped):
		return false
	case e.Err != nil, len(e.Batches) == 0: // a failover lost it again
		f.retry(l.now, l.cfg.Timing.Retry)
		return true
	case e.Batches[0].ID != f.batch.ID:
		return l.turn.heed(e.Batches)
	}
	l.land(e.Batches[0].At)
	return l.turn.heed(e.Batches[1:])
}
