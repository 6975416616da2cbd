package lease

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// recent remembers how attempts ended until the tables have it, and for a while which requests are over.
type recent struct {
	ends     map[Key]end
	order    []Key // by seq
	requests newest[entry.ID, struct{}]
	bodies   newest[name, body] // of requests that came or were granted lately
}

// newest is a map that forgets what came first.
type newest[K comparable, V any] struct {
	all   map[K]V
	order []K // a ring
	at    int // where it is written next, once it is full
	most  int // places of the ring
}

func newNewest[K comparable, V any](most int) newest[K, V] {
	return newest[K, V]{all: map[K]V{}, most: most}
}

// put adds what is not known, and returns what is.
func (n *newest[K, V]) put(key K, value V) (before V, known bool) {
	if before, known = n.all[key]; known {
		return before, true
	}
	n.all[key] = value
	if len(n.order) < n.most {
		n.order = append(n.order, key)
		return before, false
	}
	delete(n.all, n.order[n.at])
	n.order[n.at] = key
	n.at = (n.at + 1) % n.most
	return before, false
}

// name and body are the parts of the id of a request: a name comes with another body only where a pilot uses it twice.
type (
	name [12]byte
	body [4]byte
)

// reused says whether a request came before with another body, and remembers it.
func (r *recent) reused(id entry.ID) bool {
	b := body(id[12:])
	before, known := r.bodies.put(name(id[:12]), b)
	return known && before != b
}

type end struct {
	outcome entry.Outcome
	next    entry.Next
	seq     int64
}

func newRecent(requests int) *recent {
	return &recent{ends: map[Key]end{}, requests: newNewest[entry.ID, struct{}](requests), bodies: newNewest[name, body](requests)}
}

func keyOf(l machine.Lease) Key { return l.Fence() }

// ended notes the end of a lease by the batch with that seq.
func (r *recent) ended(l machine.Lease, e entry.Ended, seq int64) {
	k := keyOf(l)
	r.ends[k] = end{e.Outcome, e.Next, seq}
	r.order = append(r.order, k)
	r.request(l.Request)
}

func (r *recent) request(id entry.ID) {
	if id != (entry.ID{}) {
		r.requests.put(id, struct{}{})
	}
}

// shift notes that all after seq are in the batch after the one that was thought.
func (r *recent) shift(seq int64) {
	for i := len(r.order) - 1; i >= 0; i-- {
		e := r.ends[r.order[i]]
		if e.seq <= seq {
			return
		}
		e.seq++
		r.ends[r.order[i]] = e
	}
}

// folded forgets the ends of batches up to seq: the tables have them.
func (r *recent) folded(seq int64) {
	n := 0
	for ; n < len(r.order) && r.ends[r.order[n]].seq <= seq; n++ {
		delete(r.ends, r.order[n])
	}
	r.order = r.order[n:]
}
