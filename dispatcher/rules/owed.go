package rules

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// owedAgain is after what time a debt is said once more. The machine forgets it some time later: nobody else would end what a
// leader has said that leads no more.
const owedAgain = 10 * time.Second

// owed is what this daemon has said that leaves come first for.
type owed struct {
	mu   sync.Mutex
	last map[retry.Claimer]shares.Units
	at   time.Time
}

// some says whether anything is owed, as far as was said.
func (o *owed) some() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.last) > 0
}

// keep notes what was said.
func (o *owed) keep(debts map[retry.Claimer]shares.Units, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.at = debts, at
}

// anew works out what is owed, of what claimers were given and have not taken, and what is to be said of it; nothing where it was
// said a short time ago.
func (o *owed) anew(tree *shares.Tree, given map[retry.Claimer]shares.Units, now time.Time) (debts map[retry.Claimer]shares.Units, said []entry.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	debts = retry.Owed(tree, given)
	if maps.Equal(debts, o.last) && now.Sub(o.at) < owedAgain {
		return nil, nil
	}
	for c, units := range debts {
		said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share, Units: units})
	}
	for c := range o.last {
		if _, still := debts[c]; !still {
			said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share})
		}
	}
	slices.SortFunc(said, func(a, b entry.Entry) int {
		x, y := a.(entry.Owed), b.(entry.Owed)
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Share, y.Share))
	})
	return debts, said
}
