package machine

import (
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
	m.state.write(digest{sum}, m.seq, m.id)
	return [32]byte(sum.Sum(nil))
}

// write tells all of the state, in one order.
func (s *state) write(d digest, seq int64, id entry.ID) {
	d.add(seq, id, s.now, s.site.File.Number, s.site.At, s.site.Targets, slices.Sorted(maps.Keys(s.supplies.polled)), s.elders.Newest, s.elders.UpTo)
	for _, id := range slices.Sorted(maps.Keys(s.words.shapes)) {
		if id > 0 {
			d.add(id, s.words.shapes[id].full)
		}
	}
	for _, b := range s.inOrder() {
		if b.Count() > 0 || b.expected > 0 {
			d.add(b.log(), b.shape.sort.Text(), b.Count(), b.expected)
		}
		for r := range b.Ranges() {
			user, _ := s.ready.User(r.Task)
			d.add(r, user)
		}
	}
	d.add(s.site.Capped, s.site.Debts(), s.holes.List())
	s.aside.Digest(d.add)
	s.leases.Digest(d.add)
	d.held(s)
	d.order(s)
	s.claims.Digest(d.add)
}

type digest struct{ io.Writer }

func (d digest) add(values ...any) {
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // plain values: it cannot be
		}
		_, _ = d.Write(append(text, '\n'))
	}
}

// held adds what is held, wanted and missed.
func (d digest) held(s *state) {
	s.settle()
	s.held.Digest(d.add)
	s.site.Digest(d.add)
}

// order adds who was served last, and who holds units of resources.
func (d digest) order(s *state) {
	s.served.Digest(d.add)
	s.supplies.Digest(d.add)
}
