package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Digest sums up all of the state that follows from the log: two machines that applied the same entries have the same. It looks
// at every lease and range, and costs accordingly.
func (m *Machine) Digest() [32]byte {
	sum := sha256.New()
	m.state.write(sum, m.seq, m.id)
	return [32]byte(sum.Sum(nil))
}

// write tells all of the state, in one order.
func (s *state) write(to io.Writer, seq int64, id entry.ID) {
	add := func(values ...any) {
		for _, v := range values {
			text, err := json.Marshal(v)
			if err != nil {
				panic(err) // plain values: it cannot be
			}
			_, _ = to.Write(append(text, '\n'))
		}
	}
	add(seq, id, s.now, s.site.File.Number, s.site.At, s.site.Targets, slices.Sorted(maps.Keys(s.supplies.polled)), s.elders.Newest, s.elders.UpTo)
	for _, id := range slices.Sorted(maps.Keys(s.words.shapes)) {
		if id > 0 {
			add(id, s.words.shapes[id].full)
		}
	}
	buffers := slices.SortedFunc(maps.Values(s.buffers), func(a, b *buffer) int {
		x, y := a.log(), b.log()
		return cmp.Or(cmp.Compare(x.Share, y.Share), cmp.Compare(x.Shape, y.Shape), cmp.Compare(a.Key().User, b.Key().User),
			cmp.Compare(a.shape.sort.Text(), b.shape.sort.Text()))
	})
	for _, b := range buffers { // in an order that follows from the log
		if b.Count() > 0 || b.expected > 0 {
			add(b.log(), b.shape.sort.Text(), b.Count(), b.expected)
		}
		for r := range b.Ranges() {
			user, _ := s.ready.User(r.Task)
			add(r, user)
		}
	}
	add(s.site.Capped, s.site.Debts(), s.holes.List())
	s.aside.Digest(add)
	s.leases.Digest(add)
	s.settle()
	s.held.Digest(add)
	s.site.Digest(add)
	s.served.Digest(add)
	s.supplies.Digest(add)
	s.claims.Digest(add)
}
