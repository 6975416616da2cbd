package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// owed is what leaves of a pool may take before all others: units that were reclaimed for them by comparing leaves with
// leaves, or from whom the rank said. Pulls go by the targets of the tree, which would give some of them back. Nothing is
// kept for a leaf: one that has no job for the slot at hand is passed over.
type owed struct {
	list  []retry.Debt // in the order of the tree
	until time.Time    // it is made anew before that, as long as somebody reclaims
}

// owedFor bounds how long it counts.
const owedFor = 30 * time.Second

// owedLeaf is a leaf that is owed units; false when none is that has a job.
func (p *pool) owedLeaf(of *shares.Contenders) (leaf int, ok bool) {
	if len(p.owed.list) > 0 && time.Now().Before(p.owed.until) {
		for _, o := range p.owed.list {
			if o.Units > 0 && p.book.Contends(of, o.Leaf) {
				return o.Leaf, true
			}
		}
	}
	return 0, false
}

// take notes that a leaf was granted units, and returns what it was owed; nil when it was owed nothing.
func (w *owed) take(leaf int, u shares.Units) *retry.Debt {
	for i := range w.list {
		if o := &w.list[i]; o.Leaf == leaf && o.Units > 0 {
			o.Units -= u
			return o
		}
	}
	return nil
}

// owe says anew what is owed to whom, of what claimers were given and have not taken. What they were granted and has not
// committed yet is taken too, as long as it is not taken back.
func (s *state) owe(given map[retry.Claimer]shares.Units, now time.Time) {
	for _, p := range s.pools {
		p.owed = owed{until: now.Add(owedFor)}
		if len(given) > 0 {
			p.owed.list = retry.Owed(p.book, given)
		}
	}
	for _, g := range s.inflight {
		g.owed = g.queue.pool.owed.take(g.leaf, g.units)
	}
}
