package machine

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// adopt puts a version of the site in force, with the plans of this moment; what is ready and held stays.
func (s *state) adopt(file shares.Version, targets []entry.Target) {
	lags := s.site.lags()
	s.served.rememberServed()
	s.build(file, targets)
	s.site.recallLags(lags)
}

// build makes everything that follows from a version.
func (s *state) build(file shares.Version, targets []entry.Target) {
	s.site = newSite(file, s.now, targets)
	s.supplies.adoptSupplies()
	s.leaves, s.dirty = make([]leaf, len(s.site.version.Tree.Nodes)), s.dirty[:0]
	s.served.adoptUsers()
	s.kinds.forgetKinds()
	s.making.passed = nil
	s.sorts.bays, s.sorts.open = map[resource.Place]*bay{}, map[*buffer]struct{}{}
	for o := range s.words.outlinesAll() {
		s.words.place(o)
	}
	for each := range s.ready.Buffers() {
		if b := s.buffers[each.Key()]; b != nil {
			s.hang(b)
		}
	}
	for share, held := range s.held {
		for key, h := range held {
			s.book(ready.Key{Share: share, Shape: key.shape}, key.queue, h.jobs, h.units)
		}
	}
	for _, c := range s.claims.Charged() {
		if q := s.site.queues[c.Queue]; q != nil {
			s.supplies.Charge(c, &q.Queue)
		}
	}
	s.eased++
}

// lagKey is a share in a pool.
type lagKey struct {
	pool  string
	share shares.ShareID
}

// lag is what a share has missed up to a moment, in thousandths of a unit times seconds. The one is counted by targets as they
// are, for showing; what is remembered fades with the share's half_life and shifts its target (shares.Pool.Remember).
type lag struct{ shown, remembered float64 }

// remember counts the time up to now for what each share missed or had too much, by what it holds and should hold.
func (s *state) remember(e entry.Tick) {
	if s.now.IsZero() {
		return
	}
	dt := e.Now.Sub(s.now)
	s.settle()
	for _, p := range s.site.pools {
		var offered shares.Units
		for _, o := range e.Offered {
			if o.Pool == p.name {
				offered += o.Units
			}
		}
		r := p.round(offered)
		for i, target := range p.book.Targets(r) {
			if i > 0 { // the root is no share
				p.lag[i] += (target - float64(p.book.Held(i))) * dt.Seconds()
			}
		}
		p.book.Remember(r, dt)
	}
}

// lags is what all shares have missed.
func (t *site) lags() map[lagKey]lag {
	all := map[lagKey]lag{}
	for _, p := range t.pools {
		for i, n := range p.book.Tree().Nodes {
			if i > 0 {
				all[lagKey{p.name, n.ID}] = lag{p.lag[i], p.book.Lag(i)}
			}
		}
	}
	return all
}

// recallLags sets what shares have missed.
func (t *site) recallLags(all map[lagKey]lag) {
	for _, p := range t.pools {
		for i, n := range p.book.Tree().Nodes {
			if l, ok := all[lagKey{p.name, n.ID}]; ok {
				p.lag[i] = l.shown
				if n.Plan.HalfLife > 0 {
					p.book.SetLag(i, l.remembered)
				}
			}
		}
	}
}
