package books

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// owed is what leaves of a pool may take before all others: units that were reclaimed for them by comparing leaves with
// leaves, or from whom the rank said. Pulls go by the targets of the tree, which would give some of them back. Nothing is
// kept for a leaf: one that has no job for the slot at hand is passed over.
type owed struct{ list []owedUnits } // in the order of the tree

type owedUnits struct {
	leaf       int
	entry.Debt // of more than 0 units
}

// owedFor bounds how long a debt counts. It is said anew before that, as long as somebody reclaims.
const owedFor = 30 * time.Second

// LeafIn is a leaf that is owed units; false when none is that has a job.
func (w *owed) LeafIn(book *shares.Pool, contenders *shares.Contenders) (leaf int, ok bool) {
	for _, o := range w.list {
		if contenders.Has(book, o.leaf) {
			return o.leaf, true
		}
	}
	return 0, false
}

func (w *owed) set(o owedUnits) {
	i, had := slices.BinarySearchFunc(w.list, o.leaf, func(o owedUnits, leaf int) int { return cmp.Compare(o.leaf, leaf) })
	if had {
		w.list = slices.Delete(w.list, i, i+1)
	}
	if o.Units > 0 {
		w.list = slices.Insert(w.list, i, o)
	}
}

// take notes that a leaf was granted units.
func (w *owed) take(leaf int, u shares.Units) {
	for i := range w.list {
		if o := &w.list[i]; o.leaf == leaf {
			if o.Units -= u; o.Units <= 0 {
				w.list = slices.Delete(w.list, i, i+1)
			}
			return
		}
	}
}

// Owe says what a share is owed from now on. One that is no leaf, or a pool that is not there, is owed nothing.
func (t *Site) Owe(e entry.Owed, now time.Time) { t.owe(entry.Debt{Owed: e, Until: now.Add(owedFor)}) }

func (t *Site) owe(d entry.Debt) {
	if leaf, ok := t.Leaf(d.Share); ok {
		if p := t.Pool(d.Pool); p != nil {
			p.Owed.set(owedUnits{leaf, d})
		}
	}
}

// Forgive drops the debts whose time is over.
func (t *Site) Forgive(now time.Time) {
	for _, p := range t.Pools {
		p.Owed.list = slices.DeleteFunc(p.Owed.list, func(o owedUnits) bool { return !now.Before(o.Until) })
	}
}

// Debts are all, by pool and in the order of the tree.
func (t *Site) Debts() (list []entry.Debt) {
	for _, p := range t.Pools {
		list = append(list, p.Owed.debts()...)
	}
	return list
}

func (w *owed) debts() (list []entry.Debt) {
	for _, o := range w.list {
		list = append(list, o.Debt)
	}
	return list
}
