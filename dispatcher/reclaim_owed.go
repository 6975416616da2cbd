package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// owed is what leaves of a pool may take before all others: units that were reclaimed for them by comparing leaves with
// leaves, or from whom the rank said. Pulls go by the targets of the tree, which would give some of them back. Nothing is
// kept for a leaf: one that has no job for the slot at hand is passed over.
type owed struct {
	list  []owedUnits // in the order of the tree
	until time.Time   // it is made anew before that, as long as somebody reclaims
}

type owedUnits struct {
	leaf  int
	units shares.Units // 0 or less: it had them
}

// owedFor bounds how long it counts.
const owedFor = 30 * time.Second

// owedLeaf is a leaf that is owed units; false when none is that has a job.
func (p *pool) owedLeaf(of *shares.Contenders) (leaf int, ok bool) {
	if len(p.owed.list) > 0 && time.Now().Before(p.owed.until) {
		for _, o := range p.owed.list {
			if o.units > 0 && p.book.Contends(of, o.leaf) {
				return o.leaf, true
			}
		}
	}
	return 0, false
}

// take notes that a leaf was granted units, and returns what it was owed; nil when it was owed nothing.
func (w *owed) take(leaf int, u shares.Units) *owedUnits {
	for i := range w.list {
		if o := &w.list[i]; o.leaf == leaf && o.units > 0 {
			o.units -= u
			return o
		}
	}
	return nil
}

// claimer is a share in a pool.
type claimer struct {
	pool  string
	share shares.ShareID
}

// owe says anew what is owed to whom, of what claimers were given and have not taken. What they were granted and has not
// committed yet is taken too, as long as it is not taken back.
func (s *state) owe(given map[claimer]shares.Units, now time.Time) {
	for name, p := range s.pools {
		p.owed = owed{until: now.Add(owedFor)}
		if len(given) == 0 {
			continue
		}
		tree := p.book.Tree()
		for _, leaf := range tree.Leaves() {
			terms := tree.ReclaimOf(leaf)
			if u := given[claimer{name, tree.Nodes[leaf].ID}]; u > 0 && terms != nil && (terms.Scope == "leaf" || terms.By == "rank") {
				p.owed.list = append(p.owed.list, owedUnits{leaf, u})
			}
		}
	}
	for _, g := range s.inflight {
		g.owed = g.queue.pool.owed.take(g.leaf, g.units)
	}
}
