package shares

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/divvyhq/divvy/shares/when"
)

// Plan is what a site says about one share. The YAML and JSON keys are those of sharing.md §3; amounts are
// written in units.
type Plan struct {
	Weight   float64  `json:"weight" yaml:"weight" doc:"Relative to the siblings; 0 = only what nobody else wants."`
	Tier     int      `json:"tier" yaml:"tier" is:"1..1000" doc:"Lower tiers are filled first."`
	Owned    Amount   `json:"owned,omitzero" yaml:"owned" doc:"Units that are guaranteed, outside the pool."`
	Min      Amount   `json:"min,omitzero" yaml:"min" doc:"Floor out of the pool while there is demand."`
	Max      Amount   `json:"max,omitzero" yaml:"max" doc:"Hard cap."`
	Lend     Limit    `json:"lend,omitzero" yaml:"lend" doc:"Owned units that idle ones may be lent up to: N, all, none."`
	Borrow   Limit    `json:"borrow,omitzero" yaml:"borrow" doc:"Units of others that may be used: N, all, none."`
	LendTo   string   `json:"lend_to,omitempty" yaml:"lend_to" is:"word=path" doc:"Path of an ancestor: lent units stay inside it."`
	Rank     int      `json:"rank" yaml:"rank" is:"..1000000000" doc:"The largest rank is reclaimed from first."`
	Reclaim  *Reclaim `json:"reclaim,omitempty" yaml:"reclaim" doc:"Take back actively; absent = wait for jobs to end."`
	Windows  []Window `json:"plans,omitempty" yaml:"plans" doc:"Other figures at other times; the first that matches."`
	HalfLife Duration `json:"half_life,omitzero" yaml:"half_life" is:"duration 1s.." doc:"Memory of past use; 0 = none."`
	Clamp    Amount   `json:"clamp,omitzero" yaml:"clamp" doc:"Most units that past use may move the target by; default its own target."`
	Aging    *Aging   `json:"aging,omitempty" yaml:"aging" doc:"Priority that grows with waiting time."`
	Within   string   `json:"within,omitempty" yaml:"within" enum:"fifo,fair_user" doc:"Whose job is next in a share that holds jobs: by priority and age alone, or that of the user who holds least; default that of the share above, at the top fifo."`
}

// Orders among the jobs of a share, see Plan.Within.
const (
	Fifo     = "fifo"
	FairUser = "fair_user"
)

// DefaultPlan is the plan of a share that says nothing: decode into it.
func DefaultPlan() Plan { return Plan{Weight: 1, Tier: 1, Rank: 10000} }

// Reclaim says how a share takes back its units from others (§3).
type Reclaim struct {
	Grace      Duration `json:"grace,omitzero" yaml:"grace" is:"duration" doc:"From the delivery of the order to the end."`
	MinRuntime Duration `json:"min_runtime,omitzero" yaml:"min_runtime" is:"duration" doc:"Younger jobs are spared."`
	Rate       Rate     `json:"rate,omitzero" yaml:"rate" doc:"Most jobs in a time, such as 10/1m; absent = no limit."`
	Scope      string   `json:"scope,omitempty" yaml:"scope" enum:"leaf,parent,lca" doc:"Where deviations are compared; default lca."`
	By         string   `json:"by,omitempty" yaml:"by" enum:"ratio,rank" doc:"How victims are ordered; default ratio."`
}

// Aging adds Points to a job's priority for every Per that it waits, Max at most (0 = no bound).
type Aging struct {
	Per    Duration `json:"per" yaml:"per" is:"required duration 1s.."`
	Points int      `json:"points" yaml:"points" is:"required 1..1000000"`
	Max    int      `json:"max,omitempty" yaml:"max" is:"..1000000000"`
}

// Window overrides figures of a plan at times; nil fields keep the base.
type Window struct {
	When   string   `json:"when" yaml:"when" is:"required" doc:"Days, hours and zone, such as Mon-Fri 08:00-18:00 Europe/Zurich."`
	Weight *float64 `json:"weight,omitempty" yaml:"weight"`
	Tier   *int     `json:"tier,omitempty" yaml:"tier" is:"1..1000"`
	Owned  *Amount  `json:"owned,omitempty" yaml:"owned"`
	Min    *Amount  `json:"min,omitempty" yaml:"min"`
	Max    *Amount  `json:"max,omitempty" yaml:"max"`
	Lend   *Limit   `json:"lend,omitempty" yaml:"lend"`
	Borrow *Limit   `json:"borrow,omitempty" yaml:"borrow"`
	Rank   *int     `json:"rank,omitempty" yaml:"rank" is:"..1000000000"`
}

// UnmarshalJSON starts from DefaultPlan, so that absent keys mean the same as in a site file.
func (p *Plan) UnmarshalJSON(b []byte) error {
	type plain Plan
	out := plain(DefaultPlan())
	if err := json.Unmarshal(b, &out); err != nil {
		return err
	}
	*p = Plan(out)
	return nil
}

// At is the plan in force at t: that of the first window that t falls into, else p itself.
func (p Plan) At(t time.Time) Plan {
	for _, w := range p.Windows {
		span, err := when.Parse(w.When)
		if err == nil && span.Contains(t) {
			return w.over(p)
		}
	}
	return p
}

// At is the tree with the plans that are in force at now; ids, paths and order stay.
func (t *Tree) At(now time.Time) *Tree {
	out := &Tree{Nodes: append([]Node(nil), t.Nodes...), byPath: t.byPath, byID: t.byID}
	for i := range out.Nodes {
		out.Nodes[i].Plan = out.Nodes[i].Plan.At(now)
	}
	return out
}

// NextChange is the first moment after t at which other plans come into force than at t; false if none ever does.
// Clocks that are set forward or back are part of it.
func (t *Tree) NextChange(now time.Time) (next time.Time, ok bool) {
	for i := range t.Nodes {
		for _, w := range t.Nodes[i].Plan.Windows {
			span, err := when.Parse(w.When)
			if err != nil {
				continue
			}
			if at, changes := span.Next(now); changes && (!ok || at.Before(next)) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}

func (w Window) over(p Plan) Plan {
	set(&p.Weight, w.Weight)
	set(&p.Tier, w.Tier)
	set(&p.Owned, w.Owned)
	set(&p.Min, w.Min)
	set(&p.Max, w.Max)
	set(&p.Lend, w.Lend)
	set(&p.Borrow, w.Borrow)
	set(&p.Rank, w.Rank)
	return p
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// Validate returns what is wrong with the plan of the share with this path, as Problems; nil if nothing is.
func (p Plan) Validate(path string) error {
	var ps Problems
	p.check(path, func(field, format string, args ...any) {
		ps = append(ps, problemf(path, field, format, args...))
	})
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (p Plan) check(path string, report func(field, format string, args ...any)) {
	p.checkFigures("", report)
	if p.LendTo != "" && !strings.HasPrefix(path, p.LendTo+"/") {
		report("lend_to", "%q is not an ancestor of %q", p.LendTo, path)
	}
	if p.HalfLife < 0 {
		report("half_life", "%v is negative", p.HalfLife)
	}
	p.Clamp.check("clamp", report)
	if p.Clamp.IsSet() && p.HalfLife == 0 {
		report("clamp", "means nothing without half_life")
	}
	p.Reclaim.check(report)
	p.Aging.check(report)
	if p.Within != "" && p.Within != Fifo && p.Within != FairUser {
		report("within", "%q: must be %s or %s", p.Within, Fifo, FairUser)
	}
	for i, w := range p.Windows {
		w.check(i, p, report)
	}
}

// checkFigures checks what a window may override too; prefix leads to the field.
func (p Plan) checkFigures(prefix string, report func(field, format string, args ...any)) {
	checkWeight(prefix+"weight", p.Weight, report)
	if p.Tier < 1 {
		report(prefix+"tier", "%d: tiers begin at 1", p.Tier)
	}
	if p.Rank < 0 {
		report(prefix+"rank", "%d is negative", p.Rank)
	}
	p.Owned.check(prefix+"owned", report)
	p.Min.check(prefix+"min", report)
	p.Max.check(prefix+"max", report)
	p.Lend.check(prefix+"lend", report)
	p.Borrow.check(prefix+"borrow", report)
	for _, pool := range poolsOf(p.Min, p.Max) {
		low, _ := p.Min.In(pool)
		if high, ok := p.Max.In(pool); ok && low > high {
			report(prefix+"min", "%v is more than max %v%s", low, high, inPool(pool))
		}
	}
}

func (r *Reclaim) check(report func(field, format string, args ...any)) {
	if r == nil {
		return
	}
	if r.Grace < 0 {
		report("reclaim.grace", "%v is negative", r.Grace)
	}
	if r.MinRuntime < 0 {
		report("reclaim.min_runtime", "%v is negative", r.MinRuntime)
	}
	if (r.Rate != Rate{}) && (r.Rate.Jobs <= 0 || r.Rate.Per <= 0) {
		report("reclaim.rate", "%v: both the number and the time must be above 0", r.Rate)
	}
	switch r.Scope {
	case "", scopeLeaf, scopeParent, scopeLCA:
	default:
		report("reclaim.scope", "%q: must be leaf, parent or lca", r.Scope)
	}
	switch r.By {
	case "", byRatio, byRank:
	default:
		report("reclaim.by", "%q: must be ratio or rank", r.By)
	}
}

func (a *Aging) check(report func(field, format string, args ...any)) {
	if a == nil {
		return
	}
	if a.Per <= 0 {
		report("aging.per", "%v: must be above 0", a.Per)
	}
	if a.Points <= 0 {
		report("aging.points", "%d: must be above 0", a.Points)
	}
	if a.Max < 0 {
		report("aging.max", "%d is negative", a.Max)
	}
}

func (w Window) check(i int, base Plan, report func(field, format string, args ...any)) {
	prefix := windowField(i)
	if _, err := when.Parse(w.When); err != nil {
		report(prefix+"when", "%v", err)
	}
	changed := w
	changed.When = ""
	if changed == (Window{}) {
		report(prefix+"when", "the window changes nothing")
	}
	var quiet Problems
	base.Windows = nil
	base.checkFigures("", func(field, _ string, _ ...any) { quiet = append(quiet, Problem{Field: prefix + field}) })
	w.over(base).checkFigures(prefix, func(field, format string, args ...any) {
		for _, q := range quiet { // the base has this problem already
			if q.Field == field {
				return
			}
		}
		report(field, format, args...)
	})
}
