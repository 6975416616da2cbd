package resource

import (
	"cmp"
	"iter"
	"slices"
)

// Family is the pools of one resource: of each key with Keyed, of each queue with PerQueue, one otherwise.
type Family struct {
	spec  Spec
	pools map[place]*Pool
}

type place struct{ key, queue string }

// NewFamily returns a resource without use. The spec must be valid.
func NewFamily(s Spec) *Family { return &Family{spec: s, pools: map[place]*Pool{}} }

// Spec is what the site says about the resource.
func (f *Family) Spec() Spec { return f.spec }

// place leaves out what does not count for this resource.
func (f *Family) place(key, queue string) place {
	at := place{key, queue}
	if !f.spec.Keyed {
		at.key = ""
	}
	if !f.spec.PerQueue {
		at.queue = ""
	}
	return at
}

// Pool is that of a key ("" without Keyed) at a queue (not looked at without PerQueue), with the capacity in force.
func (f *Family) Pool(key, queue string) *Pool {
	at := f.place(key, queue)
	p, ok := f.pools[at]
	if !ok {
		p = NewPool(f.spec)
		if at.key != "" {
			p.name += ":" + at.key
		}
		p.SetCapacity(f.spec.CapacityAt(at.key, at.queue))
		f.pools[at] = p
	}
	return p
}

// Pools are those in use, by key and queue.
func (f *Family) Pools() iter.Seq2[[2]string, *Pool] {
	return func(yield func([2]string, *Pool) bool) {
		places := make([]place, 0, len(f.pools))
		for at := range f.pools {
			places = append(places, at)
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.queue, b.queue)) })
		for _, at := range places {
			if !yield([2]string{at.key, at.queue}, f.pools[at]) {
				return
			}
		}
	}
}

// Change puts another version of the resource in force. What is held stays, who waited how long, and what the outside said of
// units that are the same still; what was kept or booked is free again. The pools are other ones: make bundles anew, and say again what is wanted.
func (f *Family) Change(s Spec) {
	old := f.pools
	f.spec, f.pools = s, make(map[place]*Pool, len(old))
	for at, was := range old {
		p := f.Pool(at.key, at.queue)
		if at == f.place(at.key, at.queue) {
			p.outside = was.outside
		}
		p.adopt(was)
	}
}

// adopt adds the standing of another pool.
func (p *Pool) adopt(was *Pool) {
	p.seq, p.horizon = max(p.seq, was.seq), max(p.horizon, was.horizon)
	for _, m := range was.members {
		p.Hold(m.name, m.held)
		to := &p.members[p.index[m.name]]
		to.last = max(to.last, m.last)
		p.groups.granted(to.group, to.last)
	}
	p.changed()
}

// Sweep forgets the pools in which nobody holds or wants anything, and says how many: those of keys that nobody uses any
// more. With them goes who waited how long.
func (f *Family) Sweep() (n int) {
	for at, p := range f.pools {
		if p.Idle() && p.outside == noReport {
			delete(f.pools, at)
			n++
		}
	}
	return n
}
