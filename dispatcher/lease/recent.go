package lease

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// recent remembers how attempts ended until the tables have it, and for a while which requests are over.
type recent struct {
	ends     map[Key]end
	order    []Key // by seq
	requests map[entry.ID]struct{}
	bodies   map[name]body // of requests that came or were granted lately, bounded as past
	named    []name
	turn     int
	past     []entry.ID // ring of requests, in the order in which their last lease ended
	most     int        // places of the ring
	at       int        // where it is written next, once it is full
}

// name and body are the parts of the id of a request: a name comes with another body only where a pilot uses it twice.
type (
	name [12]byte
	body [4]byte
)

// reused says whether a request came before with another body, and remembers it.
func (r *recent) reused(id entry.ID) bool {
	n, b := name(id[:12]), body(id[12:])
	before, ok := r.bodies[n]
	if ok {
		return before != b
	}
	if r.bodies[n] = b; len(r.named) < r.most {
		r.named = append(r.named, n)
		return false
	}
	delete(r.bodies, r.named[r.turn])
	r.named[r.turn] = n
	r.turn = (r.turn + 1) % r.most
	return false
}

type end struct {
	outcome entry.Outcome
	next    entry.Next
	seq     int64
}

func newRecent(requests int) *recent {
	return &recent{ends: map[Key]end{}, requests: map[entry.ID]struct{}{}, bodies: map[name]body{}, most: requests}
}

func keyOf(l machine.Lease) Key { return Key{l.Job, l.Attempt, l.Nonce} }

// ended notes the end of a lease by the batch with that seq.
func (r *recent) ended(l machine.Lease, e entry.Ended, seq int64) {
	k := keyOf(l)
	r.ends[k] = end{e.Outcome, e.Next, seq}
	r.order = append(r.order, k)
	r.request(l.Request)
}

func (r *recent) request(id entry.ID) {
	if id == (entry.ID{}) {
		return
	}
	if _, ok := r.requests[id]; ok {
		return
	}
	r.requests[id] = struct{}{}
	if len(r.past) < r.most {
		r.past = append(r.past, id)
		return
	}
	delete(r.requests, r.past[r.at])
	r.past[r.at] = id
	r.at = (r.at + 1) % len(r.past)
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
