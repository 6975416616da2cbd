package dispatcher

import (
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// obstacle is what keeps the jobs of a leaf back that the slot could run: a hard limit that this daemon has not enough
// escrow under, a rule of lending, or each for some of the jobs. The zero obstacle is none.
type obstacle struct {
	limit   *limit
	more    []*limit // that keep other jobs of the leaf back
	refusal shares.Refusal
	units   shares.Units // the smallest job that was refused; 0: none was
	scarce  string       // the gate at which resources keep jobs of the leaf back; empty: none does
	unmade  *group       // whose jobs are still to be made; nil: none
}

func (o obstacle) stands() bool { return o.limit != nil || o.units > 0 || o.scarce != "" }

// meet adds a limit; one that is being asked for more goes first.
func (o *obstacle) meet(l *limit, asked bool) {
	switch {
	case o.limit == l, slices.Contains(o.more, l):
	case o.limit == nil:
		o.limit = l
	case asked:
		o.limit, o.more = l, append(o.more, o.limit)
	default:
		o.more = append(o.more, l)
	}
}

// kind is the name under which a pull that got nothing is counted: of a limit, lend or borrow.
func (o obstacle) kind() string {
	switch {
	case o.limit != nil:
		return o.limit.key.Kind
	case o.units == 0:
		return o.scarce
	case o.refusal.Rule != shares.RuleMax:
		return string(o.refusal.Rule)
	case o.refusal.Node == 0:
		return "pool"
	}
	return "share"
}

// lent says whether lending and borrowing admit a job of so many units; if not, the obstacle learns it.
func (c *contenders) lent(leaf int, units shares.Units, in *obstacle) bool {
	refusal, ok := c.pool.book.Admits(leaf, units)
	if !ok && (in.units == 0 || units < in.units) {
		in.refusal, in.units = refusal, units
	}
	return ok
}

// keepBack takes a leaf out until what stands in its way may have gone.
func (c *contenders) keepBack(leaf int, in obstacle) {
	if in.limit != nil {
		c.barred[leaf] = in.limit
		for _, l := range append(in.more, in.limit) {
			if b := (bar{c, leaf}); len(c.near) == 0 || !slices.Contains(l.bars, b) { // else each decision at a node would add one
				l.bars = append(l.bars, b)
			}
		}
	}
	if in.units > 0 {
		c.refused[leaf] = in
	}
	if in.scarce != "" {
		c.starved[leaf] = in.scarce
	}
	c.contend(leaf, false)
}

// admit lets a leaf contend again, whatever it was kept back for.
func (c *contenders) admit(leaf int) {
	delete(c.barred, leaf)
	delete(c.refused, leaf)
	c.review(leaf)
}

// ask lets those contend again whom lending and borrowing admit by now. A grant never makes that so: only the end of a
// lease, or another demand.
func (c *contenders) ask() {
	if len(c.refused) == 0 || c.eased == c.pool.eased {
		return
	}
	c.eased = c.pool.eased
	for leaf, in := range c.refused {
		if _, ok := c.pool.book.Admits(leaf, in.units); ok {
			c.admit(leaf)
		}
	}
}

// keptBack is the kind of an obstacle that keeps some leaf out; empty if none is out. A hard limit goes before lending.
func (c *contenders) keptBack() string {
	for _, l := range c.barred {
		return l.key.Kind
	}
	for _, in := range c.refused {
		return in.kind()
	}
	for _, gate := range c.starved {
		return gate
	}
	return ""
}

// full is C with what runs out beside it at queues that are not online.
func (p *pool) full() shares.Units {
	if p.capacity == shares.Unlimited {
		return shares.Unlimited
	}
	return p.capacity + p.heldOffline
}

// demanded notes the demand of a leaf, after its want was brought up to date: if it is another than before, lending may
// admit others.
func (p *pool) demanded(leaf int) {
	if d := p.book.Demand(leaf); d != p.demand[leaf] {
		p.demand[leaf] = d
		p.eased++
	}
}

// lacksLoan says whether the class may be waiting for somebody to lend, or for units of a resource that are kept.
func (c *class) lacksLoan() bool {
	return c.lacked == string(shares.RuleLend) || c.lacked == string(shares.RuleBorrow) || strings.HasPrefix(c.lacked, "resource_")
}
