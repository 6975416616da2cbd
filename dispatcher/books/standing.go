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

// Standing is what a share has missed in a pool, in thousandths of a unit times seconds, and the number of its last grant.
type Standing struct {
	Pool  string         `json:"pool"`
	Share shares.ShareID `json:"share"`
	Lag   float64        `json:"lag,omitempty"`   // as it is shown
	Past  float64        `json:"past,omitempty"`  // that fades with its half_life and shifts its target
	Grant uint64         `json:"grant,omitempty"` // of a leaf
}

// Standings are those of all shares in all pools where there is something to say, and how many grants each pool saw.
func (t *Site) Standings() (list []Standing, grants map[string]uint64) {
	grants = map[string]uint64{}
	for _, p := range t.Pools {
		grants[p.Name] = p.grants
		for i, n := range p.Book.Tree().Nodes {
			if s := (Standing{p.Name, n.ID, p.Lag[i], p.Book.Lag(i), p.Last[i]}); i > 0 && s != (Standing{Pool: p.Name, Share: n.ID}) {
				list = append(list, s)
			}
		}
	}
	return list, grants
}

// Remind sets what shares have missed and who was given something last.
func (t *Site) Remind(list []Standing, grants map[string]uint64) {
	lags := Lags{}
	turns := map[string][]Standing{}
	for _, s := range list {
		lags[lagKey{s.Pool, s.Share}] = lag{s.Lag, s.Past}
		if s.Grant > 0 {
			turns[s.Pool] = append(turns[s.Pool], s)
		}
	}
	t.RecallLags(lags)
	for _, p := range t.Pools {
		order := turns[p.Name]
		slices.SortFunc(order, func(a, b Standing) int { return cmp.Compare(a.Grant, b.Grant) })
		for _, s := range order {
			if leaf, ok := t.Leaf(s.Share); ok {
				p.Book.Granted(leaf)
				p.Last[leaf] = s.Grant
			}
		}
		p.grants = grants[p.Name]
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
