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
	entries   []entry.Entry
	written   int64 // the newest batch by then
	taken     int64 // the batch that has its entries; 0: none
	refused   string
	refusedAt int64 // the newest batch by then
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
		if len(rows) < most && r.taken == 0 && r.refused == "" {
			rows = append(rows, Row{id, slices.Clone(r.entries)})
		}
	}
	return rows
}

// Refuse marks a row that cannot be applied. One that is in the log meanwhile is left alone.
func (m *Memory) Refuse(id int64, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.outbox.rows[id]; r != nil && r.taken == 0 {
		r.refused = reason
		r.refusedAt, _ = m.last()
	}
}

// RowFate is what became of a row of the outbox.
type RowFate struct {
	Is      bool   // the row is there: no failover lost it
	Seq     int64  // the batch that took it; 0: none
	Refused string // why
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
func (o *memoryOutbox) has(ids []int64) bool {
	for _, id := range ids {
		if r := o.rows[id]; r == nil || r.taken > 0 || r.refused != "" {
			return false
		}
	}
	return true
}

func (o *memoryOutbox) take(ids []int64, seq int64) {
	for _, id := range ids {
		o.rows[id].taken = seq
	}
}

// failOver loses what was written after the batch with that seq, and nothing else.
func (o *memoryOutbox) failOver(seq int64) {
	for id, r := range o.rows {
		if r.written > seq {
			delete(o.rows, id)
			continue
		}
		if r.taken > seq {
			r.taken = 0
		}
		if r.refusedAt > seq {
			r.refused, r.refusedAt = "", 0
		}
	}
}
