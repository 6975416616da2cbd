package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// adopt puts a version of the site in force, with the plans of this moment; what is ready and held stays.
func (s *state) adopt(from books.Source) {
	stood := s.site.Stood(nil)
	s.served.RememberServed()
	s.build(from)
	s.site.Remind(stood)
}

// build makes everything that follows from a version.
func (s *state) build(from books.Source) {
	s.site = books.New(from, s.now, s.kinds.unbar)
	s.supplies.adoptSupplies()
	s.leaves, s.dirty = make([]leaf, len(s.site.Version.Tree.Nodes)), s.dirty[:0]
	turns{s}.adoptUsers()
	turns{s}.splitUsers()
	s.kinds.forgetKinds()
	s.making.passed = nil
	s.sorts.bays, s.sorts.open = map[resource.Place][]*buffer{}, map[*buffer]struct{}{}
	s.words.at, s.words.guestsAt = make([][]*outline, len(from.File.Queues)), make([][]*outline, len(from.File.Queues))
	for _, o := range slices.Concat(s.words.byAt, s.words.guests) {
		s.words.place(o)
	}
	for each := range s.ready.Buffers() {
		if b := s.buffers[each.Key()]; b != nil {
			s.hang(b)
		}
	}
	for share, held := range s.held {
		for key, h := range held {
			s.book(share, key, *h)
		}
	}
	for _, c := range s.claims.Charged() {
		if q := s.site.Queues[c.Queue]; q != nil {
			s.supplies.Charge(c, &q.Queue)
		}
	}
	s.sorts.sweep()
	s.eased++
}
