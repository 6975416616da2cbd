package sim

import (
	"maps"
	"reflect"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// rowTruth is a row of the outbox that was written.
type rowTruth struct {
	id      int64 // 0: it is about to be written
	task    int64
	entries []entry.Entry
	wrong   bool // it cannot be applied
	maybe   bool // it may be refused
	moves   bool // it moves all jobs of its task
	taken   int  // by batches of the log
}

// rowsTruth is the outbox.
type rowsTruth struct {
	rows   map[int64]*rowTruth  // all that were ever written
	newest map[int64]int64      // row of each task that is in the log
	beside map[entry.ID][]int64 // rows that daemons said to take with a batch
}

// rowsOf judges which rows a batch takes: each once, those of a task in their order, with all their entries; and none of its entries that
// others write comes from elsewhere.
func (t *truth) rowsOf(b entry.Batch) {
	said := t.beside[b.ID]
	for _, id := range said {
		r := t.rows[id]
		if r == nil {
			t.violate("batch %d takes row %d, which nobody wrote", b.Seq, id)
			continue
		}
		if r.taken++; r.taken > 1 {
			t.violate("batch %d takes row %d a second time", b.Seq, id)
		}
		if before := t.newest[r.task]; before > id {
			t.violate("batch %d takes row %d of task %d behind row %d", b.Seq, id, r.task, before)
		}
		t.newest[r.task] = id
		for _, e := range r.entries {
			if _, order := e.(entry.Revoked); !order && !contains(b.Entries, e) {
				t.violate("batch %d takes row %d without %v", b.Seq, id, e)
			}
		}
	}
	for _, e := range b.Entries {
		if b.Seq > 1 && ofOthers(e) && !slices.ContainsFunc(said, func(id int64) bool { return t.rows[id] != nil && contains(t.rows[id].entries, e) }) {
			t.violate("batch %d has %+v and leaves its row", b.Seq, e)
		}
	}
}

// ofOthers says whether an entry comes by rows only, but for the first batch. Kills do too, and orders to end come of them.
func ofOthers(e entry.Entry) bool {
	switch e.(type) {
	case entry.Enqueued, entry.Moved, entry.Claimed, entry.Joined, entry.Unclaimed, entry.Adopted, entry.Capped, entry.Reported, entry.Owed, entry.Placed,
		entry.Paused, entry.Resumed, entry.Closed, entry.Dropped:
		return true
	}
	return false
}

// contains says whether an entry is among others. A version of the site is known by its number.
func contains(all []entry.Entry, e entry.Entry) bool {
	switch e := e.(type) {
	case entry.Claimed, entry.Joined, entry.Capped: // with lists and maps in them
		return slices.ContainsFunc(all, func(o entry.Entry) bool { return reflect.DeepEqual(o, e) })
	case entry.Adopted:
		return slices.ContainsFunc(all, func(o entry.Entry) bool { a, ok := o.(entry.Adopted); return ok && a.Number == e.Number })
	}
	return slices.ContainsFunc(all, func(o entry.Entry) bool { return entry.KindOf(o) == entry.KindOf(e) && o == e })
}

// settleRows judges what became of each row at the end.
func (t *truth) settleRows() {
	for _, id := range slices.Sorted(maps.Keys(t.rows)) {
		r, fate := t.rows[id], t.tables.Log.RowFate(id)
		switch {
		case !fate.Is || fate.Refused != "":
			if r.taken > 0 {
				t.violate("row %d is in the log, and was refused or lost: %+v", id, fate)
			}
			if fate.Is && !r.wrong && !r.maybe {
				t.violate("row %d was refused: %s", id, fate.Refused)
			}
		case r.taken != 1:
			t.violate("row %d is %d times in the log", id, r.taken)
		case r.wrong:
			t.violate("row %d, which is wrong, is in the log", id)
		}
	}
}
