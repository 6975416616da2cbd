package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// obstacle is what keeps the jobs of a leaf back that the slot could run: limits, a rule of lending, resources, or each for some
// of the jobs. The zero obstacle is none.
type obstacle struct {
	limits []*books.Limit
	short  shares.Units // what a job needs of the first of them
	rule   shares.Refusal
	units  shares.Units // the smallest job that lending refused; 0: none was
	scarce Refusal      // what keeps jobs of the leaf back at a resource; zero: none does
	unmade *group       // whose jobs are still to be made; nil: none
}

func (o *obstacle) stands() bool { return len(o.limits) > 0 || o.units > 0 || o.scarce.Gate != "" }

// meet adds a limit.
func (o *obstacle) meet(l *books.Limit, units shares.Units) {
	if len(o.limits) == 0 {
		o.short = units
	}
	if !slices.Contains(o.limits, l) {
		o.limits = append(o.limits, l)
	}
}

// keep notes what a resource keeps back, the first that there is.
func (o *obstacle) keep(r Refusal) {
	if o.scarce.Gate == "" {
		o.scarce = r
	}
}

// refusal is what it says to a pull that got nothing: a limit goes before lending, lending before resources.
func (o *obstacle) refusal(tree *shares.Tree) Refusal {
	switch {
	case len(o.limits) > 0:
		return o.limits[0].Refuses(o.short)
	case o.units == 0:
		return o.scarce
	}
	r := Refusal{Gate: gate.Gate(o.rule.Rule), Ref: tree.Nodes[o.rule.Node].Path, Needed: int64(o.units)}
	if o.rule.Rule == shares.RuleMax {
		r.Gate = gate.Max
		if o.rule.Node == 0 {
			r.Gate = gate.Pool
		}
	}
	return r
}

// keptBack is what keeps some leaf out, the first of the tree; zero if none is out. A hard limit goes before lending.
func (c *kind) keptBack() Refusal {
	tree := c.state.site.Version.Tree
	if leaf := firstOf(c.barred); leaf > 0 && len(c.barred[leaf]) > 0 {
		l := c.barred[leaf][0]
		return Refusal{Gate: l.Gate, Ref: l.Ref, Had: int64(max(0, l.Room()))}
	}
	if leaf := firstOf(c.refused); leaf > 0 {
		in := c.refused[leaf]
		return in.refusal(tree)
	}
	return Refusal{Gate: c.starved[firstOf(c.starved)]}
}

// firstOf is the lowest key; 0 if there is none, which is the root and no leaf.
func firstOf[V any](leaves map[int]V) (first int) {
	for leaf := range leaves {
		if first == 0 || leaf < first {
			first = leaf
		}
	}
	return first
}
