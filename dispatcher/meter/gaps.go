package meter

import (
	"math/bits"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// jobsOf counts ready jobs and those to come, and the gaps between them. A machine stands still meanwhile, so a thousand shares and queues
// are not compared one by one: queues are bits.
func jobsOf(v machine.View) (n Jobs) {
	lists, at := map[*bool]set{}, map[int]*supply{}
	for b := range v.Ready() {
		if b.Leaf < 0 || b.Ready+b.Expected == 0 {
			continue
		}
		n.Ready, n.ToCome = n.Ready+b.Ready, n.ToCome+b.Expected
		if len(b.Runs) == 0 {
			continue
		}
		runs, known := lists[&b.Runs[0]]
		if !known {
			runs = setOf(b.Runs)
			lists[&b.Runs[0]] = runs
		}
		if at[b.Leaf] == nil {
			at[b.Leaf] = &supply{make(set, len(runs)), make(set, len(runs))}
		}
		if b.Ready > 0 {
			at[b.Leaf].ready.add(runs)
		}
		if b.Expected > 0 {
			at[b.Leaf].coming.add(runs)
		}
	}
	for leaf, to := range at {
		n.Gaps += to.gaps(v.Site.Queues, v.Site.Tree.Nodes[leaf].Path)
	}
	return n
}

// set is queues, by position in the site's.
type set []uint64

func setOf(list []bool) set {
	s := make(set, (len(list)+63)/64)
	for i, is := range list {
		if is {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

func (s set) add(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

// supply is where jobs of a leaf could run.
type supply struct{ ready, coming set }

// gaps counts the queues with jobs to come and none ready.
func (s *supply) gaps(queues []shares.Queue, path string) (n int64) {
	for i := range s.coming {
		for word := s.coming[i] &^ s.ready[i]; word != 0; word &= word - 1 {
			if q := &queues[i*64+bits.TrailingZeros64(word)]; q.State == shares.Online && q.Runs(path) {
				n++
			}
		}
	}
	return n
}
