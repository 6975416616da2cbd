package shares

import (
	"fmt"
	"strconv"
	"time"
)

// ChangeKind says what happened to a share between two trees.
type ChangeKind string

const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Moved   ChangeKind = "moved" // another parent or another name, same id
	Changed ChangeKind = "plan"  // one field of the plan
)

// Change is one difference between two trees.
type Change struct {
	Kind   ChangeKind `json:"kind" enum:"added,removed,moved,plan"`
	ID     ShareID    `json:"id,omitempty"`
	Path   string     `json:"path" doc:"In the new tree; of a removed share in the old one."`
	From   string     `json:"from,omitempty" doc:"Path in the old tree, when moved."`
	Field  string     `json:"field,omitempty" doc:"Key of the plan."`
	Before string     `json:"before,omitempty"`
	After  string     `json:"after,omitempty"`
}

// String is a line for people.
func (c Change) String() string {
	switch c.Kind {
	case Moved:
		return fmt.Sprintf("%s moved to %s", c.From, c.Path)
	case Changed:
		return fmt.Sprintf("%s: %s %s → %s", c.Path, c.Field, orDash(c.Before), orDash(c.After))
	}
	return fmt.Sprintf("%s %s", c.Path, c.Kind)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// Diff lists what changes from a to b: shares of b in their order, then those that are gone. A share is the
// same by its id; where one of the trees has none for it, by its path. The order of siblings is no change, and
// neither is a path that differs only because a parent has moved.
func Diff(a, b *Tree) []Change {
	var out []Change
	kept := make(map[int]bool, len(a.Nodes))
	same := map[int]int{0: 0} // node of b → node of a
	for i := range b.Nodes[1:] {
		n := &b.Nodes[i+1]
		old, ok := counterpart(a, n)
		if !ok {
			out = append(out, Change{Kind: Added, ID: n.ID, Path: n.Path})
			continue
		}
		kept[old], same[i+1] = true, old
		was := &a.Nodes[old]
		if parent, ok := same[n.Parent]; was.Name != n.Name || !ok || parent != was.Parent {
			out = append(out, Change{Kind: Moved, ID: n.ID, Path: n.Path, From: was.Path})
		}
		before, after := was.Plan.fields(), n.Plan.fields()
		for k := range after {
			if before[k].value != after[k].value {
				out = append(out, Change{Kind: Changed, ID: n.ID, Path: n.Path, Field: after[k].key,
					Before: before[k].value, After: after[k].value})
			}
		}
	}
	for i := range a.Nodes[1:] {
		if n := &a.Nodes[i+1]; !kept[i+1] {
			out = append(out, Change{Kind: Removed, ID: n.ID, Path: n.Path})
		}
	}
	return out
}

func counterpart(a *Tree, n *Node) (int, bool) {
	if i, ok := a.ByID(n.ID); ok {
		return i, true
	}
	i, ok := a.ByPath(n.Path)
	if ok && n.ID != 0 && a.Nodes[i].ID != 0 { // the path was given to another share
		return 0, false
	}
	return i, ok
}

type planField struct{ key, value string }

// fields lists the plan as text in a fixed order; "" stands for not given.
func (p Plan) fields() []planField {
	out := []planField{{"weight", decimal(p.Weight)}, {"tier", strconv.Itoa(p.Tier)}, {"owned", p.Owned.String()},
		{"min", p.Min.String()}, {"max", p.Max.String()}, {"lend", p.Lend.String()}, {"borrow", p.Borrow.String()},
		{"lend_to", p.LendTo}, {"rank", strconv.Itoa(p.Rank)}, {"half_life", nonZero(p.HalfLife)}, {"clamp", p.Clamp.String()}}
	reclaim, aging, windows := "", "", ""
	if r := p.Reclaim; r != nil {
		reclaim = r.terms()
	}
	if a := p.Aging; a != nil {
		aging = fmt.Sprintf("%d per %v", a.Points, a.Per)
		if a.Max > 0 {
			aging += fmt.Sprintf(", max %d", a.Max)
		}
	}
	for i, w := range p.Windows {
		if i > 0 {
			windows += "; "
		}
		windows += w.String()
	}
	return append(out, planField{"reclaim", reclaim}, planField{"aging", aging}, planField{"within", p.Within}, planField{"plans", windows})
}

// terms is the reclaim on one line, without those that are left to their defaults.
func (r *Reclaim) terms() string {
	s := fmt.Sprintf("grace %v", r.Grace)
	field := func(key, value string) {
		if value != "" {
			s += ", " + key + " " + value
		}
	}
	field("min_runtime", nonZero(r.MinRuntime))
	field("rate", r.Rate.String())
	field("scope", r.Scope)
	field("by", r.By)
	return s
}

// String is the window on one line.
func (w Window) String() string {
	s := w.When + ":"
	field := func(key, value string) { s += " " + key + " " + value }
	if w.Weight != nil {
		field("weight", decimal(*w.Weight))
	}
	if w.Tier != nil {
		field("tier", strconv.Itoa(*w.Tier))
	}
	for _, a := range []struct {
		key string
		at  *Amount
	}{{"owned", w.Owned}, {"min", w.Min}, {"max", w.Max}, {"lend", (*Amount)(w.Lend)}, {"borrow", (*Amount)(w.Borrow)}} {
		if a.at != nil && (a.key == "lend" || a.key == "borrow") {
			field(a.key, Limit(*a.at).String())
		} else if a.at != nil {
			field(a.key, a.at.String())
		}
	}
	if w.Rank != nil {
		field("rank", strconv.Itoa(*w.Rank))
	}
	return s
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func nonZero(d Duration) string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}
