package books

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// lagKey is a share in a pool.
type lagKey struct {
	pool  string
	share shares.ShareID
}

// lag is what a share has missed up to a moment, in thousandths of a unit times seconds. The one is counted by targets as they
// are, for showing; what is remembered fades with the share's half_life and shifts its target (shares.Pool.Remember).
type lag struct{ shown, remembered float64 }

// Lags is what shares have missed in pools.
type Lags map[lagKey]lag

// Lags is what all shares have missed.
func (t *Site) Lags() Lags {
	all := Lags{}
	for _, p := range t.Pools {
		for i, n := range p.Book.Tree().Nodes {
			if i > 0 {
				all[lagKey{p.Name, n.ID}] = lag{p.Lag[i], p.Book.Lag(i)}
			}
		}
	}
	return all
}

// RecallLags sets what shares have missed.
func (t *Site) RecallLags(all Lags) {
	for _, p := range t.Pools {
		for i, n := range p.Book.Tree().Nodes {
			if l, ok := all[lagKey{p.Name, n.ID}]; ok {
				p.Lag[i] = l.shown
				if n.Plan.HalfLife > 0 {
					p.Book.SetLag(i, l.remembered)
				}
			}
		}
	}
}

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

// Stood is where a pool stands, without the users.
func (t *Site) Stood(p *Pool) entry.Stood {
	stood := entry.Stood{Pool: p.Name, Grants: p.grants, Debts: t.debts(p)}
	for i, n := range p.Book.Tree().Nodes {
		s := entry.Standing{Share: n.ID, Lag: p.Lag[i], Past: p.Book.Lag(i), Grant: p.Last[i]}
		if i > 0 && s != (entry.Standing{Share: n.ID}) {
			stood.Shares = append(stood.Shares, s)
		}
	}
	slices.SortFunc(stood.Shares, func(a, b entry.Standing) int { return cmp.Compare(a.Share, b.Share) })
	return stood
}

// Remind sets what shares have missed and are owed, and who was given something last. The site is a new one: nothing was granted in it.
func (t *Site) Remind(list []entry.Stood) {
	lags := Lags{}
	for _, of := range list {
		for _, p := range t.Pools {
			if p.Name == of.Pool {
				t.remindTurns(p, of)
			}
		}
		for _, s := range of.Shares {
			lags[lagKey{of.Pool, s.Share}] = lag{s.Lag, s.Past}
		}
		t.RecallDebts(of.Debts)
	}
	t.RecallLags(lags)
}

// remindTurns has the leaves of a pool be granted something in the order in which they were.
func (t *Site) remindTurns(p *Pool, of entry.Stood) {
	order := slices.SortedFunc(slices.Values(of.Shares), func(a, b entry.Standing) int { return cmp.Compare(a.Grant, b.Grant) })
	for _, s := range order {
		if leaf, ok := t.Leaf(s.Share); ok && s.Grant > 0 {
			p.Book.Granted(leaf)
			p.Last[leaf] = s.Grant
		}
	}
	p.grants = of.Grants
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
