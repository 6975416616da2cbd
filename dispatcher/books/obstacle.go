package books

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Obstacle is what keeps the jobs of a leaf back that a slot could run: limits, a rule of lending, resources, or each for some
// of the jobs. The zero one is none.
type Obstacle struct {
	Limits []*Limit
	Units  shares.Units // the smallest job that lending refused; 0: none was
	Scarce gate.Refusal // what keeps jobs of the leaf back at a resource; zero: none does
	short  shares.Units // what a job needs of the first limit
	rule   shares.Refusal
}

// Stands says whether there is anything.
func (o *Obstacle) Stands() bool { return len(o.Limits) > 0 || o.Units > 0 || o.Scarce.Gate != "" }

// meet adds a limit.
func (o *Obstacle) meet(l *Limit, units shares.Units) {
	if len(o.Limits) == 0 {
		o.short = units
	}
	if !slices.Contains(o.Limits, l) {
		o.Limits = append(o.Limits, l)
	}
}

// Keep notes what a resource keeps back, the first that there is.
func (o *Obstacle) Keep(r gate.Refusal) {
	if o.Scarce.Gate == "" {
		o.Scarce = r
	}
}

// Refusal is what it says to a pull that got nothing: a limit goes before lending, lending before resources.
func (o *Obstacle) Refusal(tree *shares.Tree) gate.Refusal {
	switch {
	case len(o.Limits) > 0:
		return o.Limits[0].Refuses(o.short)
	case o.Units == 0:
		return o.Scarce
	}
	r := gate.Refusal{Gate: gate.Gate(o.rule.Rule), Ref: tree.Nodes[o.rule.Node].Path, Needed: int64(o.Units)}
	if o.rule.Rule == shares.RuleMax {
		r.Gate = gate.Max
		if o.rule.Node == 0 {
			r.Gate = gate.Pool
		}
	}
	return r
}

// Bid is a job that is to hold units of a pool.
type Bid struct {
	Leaf  int
	Fit   *Fit
	Pool  *Pool
	Power shares.Units // of a core
	At    *Queue       // whose target slots count; nil: none do
}

// Admits says whether the limits of the path, target slots, lending and borrowing admit a job; if not, the obstacle learns it. What
// queue and pool bound is Queue.Full.
func (t *Site) Admits(b Bid, in *Obstacle) bool {
	units := shares.Units(b.Fit.Need.Cores) * b.Power
	for _, l := range b.Pool.Paths[b.Leaf] {
		if l.Room() < units {
			in.meet(l, units)
			return false
		}
	}
	if b.At != nil {
		tree, cores := t.Version.Tree, shares.Units(b.Fit.Need.Cores)*1000
		for _, target := range b.At.Targets {
			if target.Limit.Room() < cores && target.Covers(tree, tree.Nodes[b.Leaf].ID, b.Fit.Class) {
				in.meet(target.Limit, cores)
				return false
			}
		}
	}
	if !b.Pool.Lends {
		return true
	}
	rule, ok := b.Pool.Book.Admits(b.Leaf, units)
	if !ok && (in.Units == 0 || units < in.Units) {
		in.rule, in.Units = rule, units
	}
	return ok
}

// AdmitsAll says what keeps jobs of a leaf from a queue when they are to start together: a hard limit, or lending. The zero refusal:
// nothing does.
func (t *Site) AdmitsAll(q *Queue, leaf int, jobs []*Fit) (no gate.Refusal) {
	tree, cores := t.Version.Tree, shares.Units(0)
	for _, f := range jobs {
		cores += shares.Units(f.Need.Cores)
	}
	units := cores * shares.Units(q.CorePowerMilli)
	look := func(l *Limit, need shares.Units) {
		if need > 0 && l.Room() < need && no.Gate == "" {
			no = l.Refuses(need)
		}
	}
	look(q.Limit, cores*1000)
	look(q.Home.Limit, units)
	for _, l := range q.Home.Paths[leaf] {
		look(l, units)
	}
	for _, target := range q.Targets {
		var under shares.Units
		for _, f := range jobs {
			if target.Covers(tree, tree.Nodes[leaf].ID, f.Class) {
				under += shares.Units(f.Need.Cores) * 1000
			}
		}
		look(target.Limit, under)
	}
	if no.Gate == "" && q.Home.Lends {
		if rule, ok := q.Home.Book.Admits(leaf, units); !ok {
			in := Obstacle{rule: rule, Units: units}
			no = in.Refusal(tree)
		}
	}
	return no
}
