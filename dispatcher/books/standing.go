package books

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Remember counts the time that passed for what each share missed or had too much, by what it holds and should hold. Wants have to be
// up to date.
func (t *Site) Remember(by []entry.Offer, dt time.Duration) {
	for _, p := range t.Pools {
		var offered shares.Units
		for _, o := range by {
			if o.Pool == p.Name {
				offered += o.Units
			}
		}
		r := p.Round(offered)
		for i, target := range p.Book.Targets(r) {
			if i > 0 { // the root is no share
				p.Lag[i] += (target - float64(p.Book.Held(i))) * dt.Seconds()
			}
		}
		p.Book.Remember(r, dt)
	}
}

// Stood is where each pool stands, by name, with the last grants to users.
func (t *Site) Stood(users map[string][]entry.Serving) (list []entry.Stood) {
	for _, p := range t.Pools {
		stood := entry.Stood{Pool: p.Name, Grants: p.grants, Users: users[p.Name], Debts: p.Owed.debts()}
		for i, n := range p.Book.Tree().Nodes {
			s := entry.Standing{Share: n.ID, Lag: p.Lag[i], Past: p.Book.Lag(i), Grant: p.Last[i]}
			if i > 0 && s != (entry.Standing{Share: n.ID}) {
				stood.Shares = append(stood.Shares, s)
			}
		}
		slices.SortFunc(stood.Shares, func(a, b entry.Standing) int { return cmp.Compare(a.Share, b.Share) })
		list = append(list, stood)
	}
	return list
}

// Remind sets what shares have missed and are owed: the site is a new one. What is missed by the targets as they are is for showing
// alone; what is remembered fades with the share's half_life and shifts its target (shares.Pool.Remember).
func (t *Site) Remind(list []entry.Stood) {
	for _, of := range list {
		p := t.Pool(of.Pool)
		if p == nil {
			continue
		}
		for _, s := range of.Shares {
			i, ok := t.Version.Tree.ByID(s.Share)
			if !ok {
				continue
			}
			if p.Lag[i] = s.Lag; t.Version.Tree.Nodes[i].Plan.HalfLife > 0 {
				p.Book.SetLag(i, s.Past)
			}
		}
		for _, d := range of.Debts {
			t.owe(d)
		}
	}
}

// RemindTurns has the leaves of pools be granted something in the order in which they were. Nothing was granted at the site yet.
func (t *Site) RemindTurns(list []entry.Stood) {
	for _, of := range list {
		p := t.Pool(of.Pool)
		if p == nil {
			continue
		}
		order := slices.SortedFunc(slices.Values(of.Shares), func(a, b entry.Standing) int { return cmp.Compare(a.Grant, b.Grant) })
		for _, s := range order {
			if leaf, ok := t.Leaf(s.Share); ok && s.Grant > 0 {
				p.Book.Granted(leaf)
				p.Last[leaf] = s.Grant
			}
		}
		p.grants = of.Grants
	}
}

// Digest adds what is held, wanted and missed in each pool.
func (t *Site) Digest(add func(values ...any)) {
	for _, p := range t.Pools {
		for i, n := range t.Version.Tree.Nodes {
			add(p.Name, n.ID, p.Book.Held(i), p.Book.Demand(i), p.Lag[i], p.Book.Lag(i))
		}
		add(p.grants, p.Last)
	}
}
