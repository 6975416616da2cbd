package sim

import (
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/shares"
)

// Tables is the database: the log, and how far it is folded. Its tables are the log replayed up to there.
type Tables struct {
	Log    *ledgertest.Memory
	Folded int64

	sites    []*shares.Version
	new      func() lease.Machine
	complete func([]entry.Batch)
	away     int // faults that keep it away
	disk     int // faults that let appends fail
	doubt    int // faults that lose answers
	stuck    int // faults that keep folds back
	lost     int // failovers
}

var (
	errAway = errors.New("the database is away")
	errDisk = errors.New("no space left on device")
)

// batches are those of the log, up to seq.
func (t *Tables) batches(seq int64) []entry.Batch {
	all, err := t.Log.Read(nil, 0, int(seq)) //nolint:staticcheck // it asks nothing of it
	if err != nil {
		panic(err) // the simulation's own log is whole
	}
	t.complete(all)
	return all
}

// advance applies a batch of the log.
func advance(m lease.Machine, b entry.Batch) error {
	for _, e := range b.Entries {
		if err := m.Apply(e); err != nil {
			return err
		}
	}
	m.Reach(b.Seq, b.ID)
	return nil
}

// Machine is one made of the tables, as of a batch.
func (t *Tables) Machine(seq int64) lease.Reloaded {
	r := lease.Reloaded{Machine: t.new()}
	for _, b := range t.batches(seq) {
		if r.Err = advance(r.Machine, b); r.Err != nil {
			return r
		}
		if r.At = b.At; !lease.Wishes(b) {
			r.Leader = b.By
		}
		for _, e := range b.Entries {
			if g, ok := e.(entry.Granted); ok {
				r.Over = append(r.Over, g.Request) // those that did not end are answered before
			}
		}
	}
	return r
}

// look is what the tables say of attempts.
func (w *world) look(keys []lease.Key) []lease.Recorded {
	out := make([]lease.Recorded, len(keys))
	for i, k := range keys {
		if l := w.truth.leases[k]; l != nil && l.ended != nil && l.endSeq <= w.tables.Folded {
			out[i] = lease.Recorded{Is: true, Outcome: l.ended.Outcome, Next: l.ended.Next}
		}
	}
	return out
}

// fold moves the tables on, and tells the daemons.
func (w *world) fold() {
	if w.tables.stuck == 0 {
		w.tables.Folded = w.truth.seq()
		w.judge()
	}
	for _, h := range w.hosts {
		seq := w.tables.Folded
		w.after(upTo(w.delays, 100*time.Millisecond), func() {
			if seq <= w.tables.Folded {
				h.tell(lease.Folded{Seq: seq})
			}
		})
	}
	w.after(300*time.Millisecond+upTo(w.delays, time.Second), w.fold)
}

// append is what the log does with a batch that reaches it.
func (w *world) append(b entry.Batch, beside ledger.Beside) (time.Time, error) {
	before := w.truth.seq()
	w.truth.beside[b.ID] = beside.Rows
	at, err := w.wiring.Append(w.tables.Log, b, beside)
	if now, _, _ := w.tables.Log.Last(nil); now > before { //nolint:staticcheck // it asks nothing of it
		w.truth.committed(w.tables.batches(now)[before:])
	}
	return at, err
}

// appendFor carries a daemon's append to the log and its answer back. Whether the daemon is still there does not matter to the log.
func (w *world) appendFor(h *host, a lease.Append) {
	b := a.Batch
	there := 200*time.Microsecond + upTo(w.delays, 3*time.Millisecond)
	back := 200*time.Microsecond + upTo(w.delays, 3*time.Millisecond)
	chance := w.delays.IntN(6)
	late := upTo(w.delays, 3*time.Second)
	daemon := h.daemon
	answer := func(d time.Duration, at time.Time, err error) {
		w.after(d, func() { h.tellAs(daemon, lease.Appended{ID: b.ID, At: at, Err: err}) })
	}
	w.after(there, func() {
		t := &w.tables
		switch {
		case t.away > 0 || h.cutLog > 0:
			if chance < 3 {
				answer(300*time.Millisecond, time.Time{}, errAway)
				return
			}
			answer(300*time.Millisecond, time.Time{}, ledger.ErrDoubt)
			if chance == 3 { // the log has it, and its answer is lost
				_, _ = w.append(b, a.Beside)
			}
		case t.disk > 0:
			answer(back, time.Time{}, errDisk)
		case t.doubt > 0 && chance == 4: // the log has it long before the daemon knows
			at, err := w.append(b, a.Beside)
			answer(2*late, at, err)
		case t.doubt > 0 && chance < 4:
			answer(back+100*time.Millisecond, time.Time{}, ledger.ErrDoubt)
			switch chance {
			case 0, 1:
				_, _ = w.append(b, a.Beside)
			case 2:
				w.after(late, func() { _, _ = w.append(b, a.Beside) })
			}
		default:
			at, err := w.append(b, a.Beside)
			answer(back, at, err)
		}
	})
}

// gatherFor reads the outbox for a daemon. Now and then it tells it twice.
func (w *world) gatherFor(h *host, number uint64) {
	daemon := h.daemon
	w.after(200*time.Microsecond+upTo(w.delays, 2*time.Millisecond), func() {
		g := lease.Gathered{Number: number, Err: errAway}
		if w.tables.away == 0 && h.cutLog == 0 {
			g.Rows, g.Err = w.tables.Log.Pending(20), nil
			for _, r := range g.Rows {
				w.siteOf(r.Entries)
			}
		}
		w.after(200*time.Microsecond+upTo(w.delays, 2*time.Millisecond), func() { h.tellAs(daemon, g) })
		if w.delays.IntN(4) == 0 {
			w.after(upTo(w.delays, 500*time.Millisecond), func() { h.tellAs(daemon, g) })
		}
	})
}

// readFor reads for a daemon.
func (w *world) readFor(h *host, after int64) {
	daemon := h.daemon
	w.after(200*time.Microsecond+upTo(w.delays, 2*time.Millisecond), func() {
		f := lease.Fetched{After: after}
		if w.tables.away > 0 || h.cutLog > 0 {
			f.Err = errAway
		} else {
			f.Batches, f.Err = w.tables.Log.Read(nil, after, 50) //nolint:staticcheck // it asks nothing of it
			w.complete(f.Batches)
		}
		w.after(200*time.Microsecond+upTo(w.delays, 2*time.Millisecond), func() { h.tellAs(daemon, f) })
	})
}

// complete looks up the sites of entries that were read.
func (w *world) complete(batches []entry.Batch) {
	for _, b := range batches {
		w.siteOf(b.Entries)
	}
}

// siteOf looks them up for some entries.
func (w *world) siteOf(entries []entry.Entry) {
	for i, e := range entries {
		if a, ok := e.(entry.Adopted); ok {
			a.Site = w.sites[a.Number-1]
			entries[i] = a
		}
	}
}

// reloadFor makes a machine for a daemon.
func (w *world) reloadFor(h *host) {
	daemon := h.daemon
	w.after(time.Millisecond+upTo(w.delays, 20*time.Millisecond), func() {
		r := lease.Reloaded{Err: errAway}
		if w.tables.away == 0 && h.cutLog == 0 {
			r = w.wiring.Reload(&w.tables, h.no)
		}
		if r.Err != nil && !errors.Is(r.Err, errAway) {
			w.violate("reload: %v", r.Err)
		}
		w.after(upTo(w.delays, 5*time.Millisecond), func() { h.tellAs(daemon, r) })
	})
}

// lookFor asks the tables for a daemon.
func (w *world) lookFor(h *host, l lease.Look) {
	daemon := h.daemon
	w.after(200*time.Microsecond+upTo(w.delays, 3*time.Millisecond), func() {
		e := lease.Looked{Call: l.Call, Err: errAway}
		if w.tables.away == 0 && h.cutLog == 0 {
			e.Ended, e.Err = w.look(l.Keys), nil
		}
		h.tellAs(daemon, e)
	})
}

// failOver loses the newest batches.
func (w *world) failOver(n int) {
	seq := max(2, w.truth.seq()-int64(n))
	w.say("a failover loses all after batch %d", seq)
	w.tables.Log.FailOver(seq)
	w.tables.Folded = min(w.tables.Folded, seq)
	w.tables.lost++
	w.truth.failOver(seq)
}
