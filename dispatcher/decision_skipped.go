package dispatcher

import "github.com/divvyhq/divvy/shares"

// skip is a leaf that stood before the winner of a decision and did not get the slot.
type skip struct {
	share shares.ShareID
	word  byte // why, as decisions has it
}

// Why a leaf with ready jobs did not contend: letters of decisions.skipped_words.
const (
	skipUnfit  = 'f' // none of them fits the slot
	skipMax    = 'm' // a max up its path
	skipPool   = 'p' // the capacity of the pool
	skipLend   = 'l' // who owns the idle units does not lend them
	skipBorrow = 'b' // it, or a share up its path, may not borrow
	skipScarce = 'r' // resources
)

// skipReasons are the letters in words.
var skipReasons = map[byte]string{skipUnfit: "unfit", skipMax: "max", skipPool: "pool",
	skipLend: string(shares.RuleLend), skipBorrow: string(shares.RuleBorrow), skipScarce: "resource"}

// mostSkipped bounds the names in a record.
const mostSkipped = 8

// skippedBefore are the first of the leaves with ready jobs that would have got the slot before the winner of the contest
// that was just held, had they contended.
func (s *state) skippedBefore(of *contenders, winner int) (skipped []skip) {
	book, set := of.pool.book, &of.pool.skipped
	all := s.scratch.leaves[:0]
	for leaf := range s.leaves {
		if s.leaves[leaf].nOpen > 0 && !book.Contends(&of.leaves, leaf) {
			all = append(all, leaf)
			book.Contend(set, leaf, true)
		}
	}
	s.scratch.leaves = all
	var ahead [mostSkipped]int
	for _, leaf := range book.Ahead(winner, set, mostSkipped, ahead[:0]) {
		skipped = append(skipped, skip{s.version.Tree.Nodes[leaf].ID, of.whySkipped(leaf)})
	}
	for _, leaf := range all {
		book.Contend(set, leaf, false)
	}
	return skipped
}

// nKept is how many leaves limits, lending or resources keep back.
func (c *contenders) nKept() (n int) {
	n = len(c.barred) + len(c.refused)
	for leaf := range c.starved {
		if _, refused := c.refused[leaf]; !refused && c.barred[leaf] == nil {
			n++
		}
	}
	return n
}

// whySkipped is the reason that a leaf does not contend for.
func (c *contenders) whySkipped(leaf int) byte {
	in, refused := c.refused[leaf]
	if l := c.barred[leaf]; l != nil {
		in, refused = obstacle{limit: l}, true
	}
	if _, starved := c.starved[leaf]; !refused && starved {
		return skipScarce
	}
	if !refused {
		return skipUnfit
	}
	switch in.kind() {
	case string(shares.RuleLend):
		return skipLend
	case string(shares.RuleBorrow):
		return skipBorrow
	case "pool":
		return skipPool
	}
	return skipMax
}
