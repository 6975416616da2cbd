package ledger

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

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
func (m *Memory) Pending(most int) (rows []Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.outbox.rows)) {
		r := m.outbox.rows[id]
		if len(rows) < most && r.taken == 0 {
			rows = append(rows, Row{ID: id, Entries: slices.Clone(r.entries)})
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
func (m *Memory) Texts() (all []Text) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.besides {
		all = append(all, b.Texts...)
	}
	return all
}

// has says whether all rows are there.
func (o *memoryOutbox) has(b *Beside) bool {
	for _, id := range b.Rows {
		if r := o.rows[id]; r == nil || r.taken > 0 {
			return false
		}
	}
	for _, v := range b.Refused {
		if r := o.rows[v.Row]; r == nil || r.taken > 0 {
			return false
		}
	}
	return true
}

func (o *memoryOutbox) take(b *Beside, seq int64) {
	for _, id := range b.Rows {
		o.rows[id].taken = seq
	}
	for _, r := range b.Refused {
		o.rows[r.Row].taken, o.rows[r.Row].refused = seq, r.Reason
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
