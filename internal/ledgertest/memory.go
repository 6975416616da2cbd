package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// Fate is what a simulator does to an append.
type Fate struct {
	Drop bool // it never reaches the log; its caller gets ledger.ErrDoubt
	Lose bool // its answer never comes back; its caller gets ledger.ErrDoubt
}

// Memory is a ledger.Log. The zero value is empty.
type Memory struct {
	Clock func() time.Time         // the clock of the database; nil: this machine's
	Fate  func(b entry.Batch) Fate // decides on each append that is well formed; nil: all are applied and answered

	Batches []entry.Batch // without gaps; access it only while the log is not in use

	mu      sync.Mutex
	besides []ledger.Beside // of them
	outbox  memoryOutbox
}

// Append is ledger.Log's.
func (m *Memory) Append(ctx context.Context, b entry.Batch) (at time.Time, err error) {
	return m.AppendWith(ctx, b, ledger.Beside{})
}

// AppendWith is ledger.Log's.
func (m *Memory) AppendWith(_ context.Context, b entry.Batch, beside ledger.Beside) (at time.Time, err error) {
	if err := ledger.CheckBatch(b, &beside); err != nil {
		return at, err
	}
	var fate Fate
	if m.Fate != nil {
		fate = m.Fate(b)
	}
	if !fate.Drop {
		at, err = m.append(b, beside)
	}
	if fate.Drop || fate.Lose {
		at, err = time.Time{}, ledger.ErrDoubt
	}
	if err != nil {
		err = fmt.Errorf("append batch %d: %w", b.Seq, err)
	}
	return at, err
}

func (m *Memory) append(b entry.Batch, beside ledger.Beside) (at time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now
	if m.Clock != nil {
		now = m.Clock
	}
	b.At = now().UTC().Truncate(time.Microsecond)
	seq, id := m.last()
	switch {
	case b.Seq <= seq:
		return at, ledger.ErrTaken
	case b.Seq > seq+1 || b.After != id:
		return at, ledger.ErrGap
	case !m.outbox.has(&beside):
		return at, ledger.ErrGone
	case seq > 0:
		if before := m.Batches[len(m.Batches)-1].At; b.At.Before(before) {
			b.At = before
		}
	}
	b.Entries = bare(b.Entries)
	m.outbox.take(&beside, b.Seq)
	m.Batches, m.besides = append(m.Batches, b), append(m.besides, beside)
	return b.At, nil
}

// bare are entries as the table keeps them.
func bare(entries []entry.Entry) []entry.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if a, ok := e.(entry.Adopted); ok {
			a.Site = nil
			entries[i] = a
		}
	}
	return entries
}

// Read is ledger.Log's.
func (m *Memory) Read(_ context.Context, seq int64, most int) ([]entry.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var batches []entry.Batch
	for _, b := range m.Batches[m.upTo(seq):] {
		if len(batches) == most {
			break
		}
		b.Entries = slices.Clone(b.Entries)
		batches = append(batches, b)
	}
	return ledger.Chained(seq, batches)
}

// Last is ledger.Log's.
func (m *Memory) Last(context.Context) (seq int64, id entry.ID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seq, id = m.last()
	return seq, id, nil
}

// Retain drops the batches from before a time whose seq is up to folded, but for the newest, and returns how many.
func (m *Memory) Retain(_ context.Context, before time.Time, folded int64) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n < len(m.Batches)-1 && m.Batches[n].At.Before(before) && m.Batches[n].Seq <= folded {
		n++
	}
	m.Batches, m.besides = slices.Clone(m.Batches[n:]), slices.Clone(m.besides[n:])
	return n, nil
}

// FailOver loses the batches after seq, as a failover to a standby does that has not got them.
func (m *Memory) FailOver(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.upTo(seq)
	m.Batches, m.besides = slices.Clone(m.Batches[:n]), slices.Clone(m.besides[:n])
	m.outbox.failOver(seq)
}

// last is the newest batch. m.mu is held.
func (m *Memory) last() (seq int64, id entry.ID) {
	if len(m.Batches) == 0 {
		return 0, id
	}
	b := m.Batches[len(m.Batches)-1]
	return b.Seq, b.ID
}

// upTo is how many batches have a seq up to this one. m.mu is held.
func (m *Memory) upTo(seq int64) int {
	n := 0
	if len(m.Batches) > 0 {
		n = int(min(max(0, seq-m.Batches[0].Seq+1), int64(len(m.Batches))))
	}
	return n
}

// memoryOutbox is table outbox of a Memory. Rows that are gone stay known: a failover brings them back.
type memoryOutbox struct {
	rows map[int64]*memoryRow
	last int64
}

type memoryRow struct {
	entries []entry.Entry
	written int64  // the newest batch by then
	taken   int64  // the batch with which it was taken or refused; 0: none
	refused string // why
}

// Write writes a row, as a transaction of others does, and returns its id.
func (m *Memory) Write(entries ...entry.Entry) (id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := &m.outbox
	if o.rows == nil {
		o.rows = map[int64]*memoryRow{}
	}
	o.last++
	seq, _ := m.last()
	o.rows[o.last] = &memoryRow{entries: bare(entries), written: seq}
	return o.last
}

// Pending returns the oldest rows that are neither in the log nor refused, at most most.
func (m *Memory) Pending(most int) (rows []ledger.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.outbox.rows)) {
		r := m.outbox.rows[id]
		if len(rows) < most && r.taken == 0 {
			rows = append(rows, ledger.Row{ID: id, Entries: slices.Clone(r.entries)})
		}
	}
	return rows
}

// RowFate is what became of a row of the outbox.
type RowFate struct {
	Is      bool   // the row is there: no failover lost it
	Seq     int64  // the batch that took or refused it; 0: none
	Refused string // why; empty: it was taken
}

// RowFate tells what became of a row.
func (m *Memory) RowFate(id int64) RowFate {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.outbox.rows[id]
	if r == nil {
		return RowFate{}
	}
	return RowFate{true, r.taken, r.refused}
}

// Texts are those of all batches that are kept, in their order.
func (m *Memory) Texts() (all []ledger.Text) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.besides {
		all = append(all, b.Texts...)
	}
	return all
}

// ForgetRows has the outbox be new.
func (m *Memory) ForgetRows() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outbox = memoryOutbox{}
}

// has says whether all rows are there.
func (o *memoryOutbox) has(b *ledger.Beside) bool {
	return !slices.ContainsFunc(b.AllRows(), func(id int64) bool { return o.rows[id] == nil || o.rows[id].taken > 0 })
}

func (o *memoryOutbox) take(b *ledger.Beside, seq int64) {
	for _, id := range b.AllRows() {
		o.rows[id].taken = seq
	}
	for _, r := range b.Refused {
		o.rows[r.Row].refused = r.Reason
	}
}

// failOver loses what was written after the batch with that seq, and nothing else.
func (o *memoryOutbox) failOver(seq int64) {
	for id, r := range o.rows {
		switch {
		case r.written > seq:
			delete(o.rows, id)
		case r.taken > seq:
			r.taken, r.refused = 0, ""
		}
	}
}
