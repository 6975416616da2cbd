package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
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
	d.add(seq, id, s.now, s.site.file.Number, s.site.at, s.site.targets, slices.Sorted(maps.Keys(s.polled)), s.elders.newest, s.elders.upTo)
	for _, id := range slices.Sorted(maps.Keys(s.words.shapes)) {
		d.add(id, s.words.shapes[id].full)
	}
	for b := range s.ready.Buffers() {
		if had := s.buffers[b.Key()]; b.Count() > 0 || had.expected > 0 {
			d.add(b.Key(), b.Count(), had.expected)
		}
		for r := range b.Ranges() {
			user, _ := s.ready.User(r.Task)
			d.add(r, user)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(s.leases.by)) {
		d.add(s.leases.show(job, s.leases.by[job]))
	}
	d.held(s)
	d.order(s)
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
	for _, share := range slices.Sorted(maps.Keys(s.held)) {
		keys := slices.SortedFunc(maps.Keys(s.held[share]), func(a, b heldKey) int {
			return cmp.Or(cmp.Compare(a.shape, b.shape), cmp.Compare(a.queue, b.queue))
		})
		for _, key := range keys {
			h := s.held[share][key]
			d.add(share, key.shape, key.queue, h.jobs, h.units)
		}
	}
	for _, p := range s.site.pools {
		for i, n := range s.site.version.Tree.Nodes {
			d.add(p.name, n.ID, p.book.Held(i), p.book.Demand(i), p.lag[i], p.book.Lag(i))
		}
		d.add(p.grants, p.last)
	}
}

// order adds who was served last, and who holds units of resources.
func (d digest) order(s *state) {
	d.add(s.served.n, s.served.kept())
	for i := range s.leaves {
		us := s.leaves[i].users
		if us == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(us.by)) {
			for _, p := range s.site.pools {
				if held := us.by[name].held[p]; held != 0 {
					d.add(i, name, p.name, held)
				}
			}
		}
	}
	for _, key := range s.supplies.keys() {
		for _, a := range s.supplies.by[key].book.Allowances() {
			if a.Held > 0 {
				d.add(fmt.Sprint(key), a.ID, a.Held)
			}
		}
	}
}
