package machine

import (
	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// adopt puts a version of the site in force, with the plans of this moment; what is ready and held stays.
func (s *state) adopt(file shares.Version, targets []entry.Target) {
	lags := s.site.Lags()
	s.served.RememberServed()
	s.build(file, targets)
	s.site.RecallLags(lags)
}

// build makes everything that follows from a version.
func (s *state) build(file shares.Version, targets []entry.Target) {
	s.site = books.New(file, s.now, targets, s.kinds.unbar)
	s.supplies.adoptSupplies()
	s.leaves, s.dirty = make([]leaf, len(s.site.Version.Tree.Nodes)), s.dirty[:0]
	s.adoptUsers()
	s.kinds.forgetKinds()
	s.making.passed = nil
	s.sorts.bays, s.sorts.open = map[resource.Place]*bay{}, map[*buffer]struct{}{}
	s.words.at, s.words.guestsAt = make([][]*outline, len(file.Queues)), make([][]*outline, len(file.Queues))
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
			s.book(ready.Key{Share: share, Shape: key.Shape}, key.Queue, h.Jobs, h.Units)
		}
	}
	for _, c := range s.claims.Charged() {
		if q := s.site.Queues[c.Queue]; q != nil {
			s.supplies.Charge(c, &q.Queue)
		}
	}
	s.eased++
}
