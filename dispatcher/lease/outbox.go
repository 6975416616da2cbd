package lease

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// outbox is what the leader knows of the rows that others wrote for the log. A row is in rows, or in taken, or not known.
type outbox struct {
	asked uint64         // number of the Gather under way; 0: none
	asks  uint64         // Gathers of this leader
	due   bool           // there is something to read
	next  time.Duration  // it is read then at the latest
	rows  []ledger.Row   // that were read and are not taken yet, by id
	taken map[int64]bool // in the next batch or in flight; true: committed, but a Gather under way may still have seen it
	close bool           // nothing more is taken
	spoil bool           // the machine has a part of a row that it refused then: nothing more is decided with it
}

func newOutbox() outbox { return outbox{taken: map[int64]bool{}} }

// read asks for rows, unless there are some.
func (o *outbox) read(d *desk, poll time.Duration) {
	switch {
	case o.asked > 0 || len(o.rows) > 0:
		return
	case !o.due && o.next > d.now:
		d.wakeBy(o.next)
		return
	}
	for id, done := range o.taken {
		if done { // it is not in what is read from now on
			delete(o.taken, id)
		}
	}
	o.asks++
	o.asked, o.due, o.next = o.asks, false, d.now+poll
	d.emit(Gather{o.asked})
}

// gathered takes what was read. An answer that comes a second time, or to another leader of this daemon, is none.
func (o *outbox) gathered(e Gathered, most int) {
	if o.asked == 0 || e.Number != o.asked {
		return
	}
	o.asked = 0
	if e.Err != nil {
		return
	}
	o.due = o.due || len(e.Rows) >= most
	for _, r := range e.Rows {
		if _, ok := o.taken[r.ID]; !ok {
			o.rows = append(o.rows, r)
		}
	}
}

// committed notes what became of rows.
func (o *outbox) committed(b *ledger.Beside) {
	for _, row := range b.Rows {
		o.taken[row] = true
	}
	for _, r := range b.Refused {
		o.taken[r.Row] = true
	}
}

// take moves rows into the next batch, each as a whole, as long as there is room.
func (o *outbox) take(l *leader) {
	for len(o.rows) > 0 && !o.spoil && !o.close {
		r := o.rows[0]
		if l.next.written > 0 && l.next.written+len(r.Entries) > l.cfg.Bounds.Entries {
			return
		}
		o.rows = o.rows[1:]
		o.taken[r.ID], l.force = false, true // also where nothing of it is left
		// A row is refused with the batch before which it was tried: after a failover it may be right again.
		if err := o.apply(l, r); err != nil {
			l.next.beside.Refused = append(l.next.beside.Refused, ledger.Refusal{Row: r.ID, Reason: err.Error()})
			continue
		}
		l.next.written += max(1, len(r.Entries))
		l.next.beside.Rows = append(l.next.beside.Rows, r.ID)
	}
	o.read(l.desk, l.cfg.Timing.Gather)
}

// apply applies the entries of a row. After an error nothing of it is in the next batch; where the machine has a part of it the leader is
// spoiled.
func (o *outbox) apply(l *leader, r ledger.Row) error {
	if r.Err != nil {
		return r.Err
	}
	if err := l.cfg.Check(r.Entries); err != nil {
		return err
	}
	before := len(l.next.batch.Entries)
	for i, e := range r.Entries {
		if v, ok := e.(entry.Revoked); ok {
			if lease, ok := l.machine.Lease(v.Job); !ok || lease.Attempt != v.Attempt {
				continue // it ended meanwhile
			}
		}
		if err := l.add(e); err != nil {
			o.spoil = len(l.next.batch.Entries) > before
			l.next.batch.Entries = l.next.batch.Entries[:before]
			return fmt.Errorf("entry %d, %T: %w", i, e, err)
		}
	}
	return nil
}
