package rules

import (
	"cmp"
	"slices"
	"sync"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// owed is what this leader has said that leaves come first for, where that is more than nothing.
type owed struct {
	mu    sync.Mutex
	known bool // else an earlier leader may have said something
	last  map[retry.Claimer]shares.Units
}

func (o *owed) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known, o.last = false, nil
}

// debts is what is owed from now on.
type debts struct {
	now     map[retry.Claimer]shares.Units
	entries []entry.Entry // of those that are others than before
}

// keep notes that they are said.
func (d *debts) keep(o *owed) {
	if d.now == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known, o.last = true, d.now
}

// anew works out what is owed, of what claimers were given and have not taken. In its first round a leader says it of all leaves to whom an
// earlier one may have said something.
func (o *owed) anew(tree *shares.Tree, pools []*retry.Snapshot, given map[retry.Claimer]shares.Units) debts {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := debts{now: map[retry.Claimer]shares.Units{}}
	names := map[string]bool{}
	for c := range given {
		names[c.Pool] = true
	}
	for name := range names {
		for _, debt := range retry.Owed(shares.NewPool(tree, name), given) {
			d.now[retry.Claimer{Pool: name, Share: tree.Nodes[debt.Leaf].ID}] = debt.Units
		}
	}
	was := o.last
	if !o.known {
		was = everyone(tree, pools)
	}
	for c, units := range d.now {
		if before, said := was[c]; !said || before != units {
			d.entries = append(d.entries, entry.Owed{Pool: c.Pool, Share: c.Share, Units: units})
		}
	}
	for c := range was {
		if _, still := d.now[c]; !still {
			d.entries = append(d.entries, entry.Owed{Pool: c.Pool, Share: c.Share})
		}
	}
	slices.SortFunc(d.entries, func(a, b entry.Entry) int {
		x, y := a.(entry.Owed), b.(entry.Owed)
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Share, y.Share))
	})
	return d
}

// everyone is all leaves that may be owed something in pools where somebody asks.
func everyone(tree *shares.Tree, pools []*retry.Snapshot) map[retry.Claimer]shares.Units {
	all := map[retry.Claimer]shares.Units{}
	for _, p := range pools {
		ones := map[retry.Claimer]shares.Units{}
		for _, leaf := range tree.Leaves() {
			ones[retry.Claimer{Pool: p.Pool, Share: tree.Nodes[leaf].ID}] = 1
		}
		for _, debt := range retry.Owed(shares.NewPool(tree, p.Pool), ones) {
			all[retry.Claimer{Pool: p.Pool, Share: tree.Nodes[debt.Leaf].ID}] = -1
		}
	}
	return all
}
