package sim

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// toy is a machine without shares: jobs go by place and id to whoever asks first, and queues have slots. Its switches are the broken ones.
type toy struct {
	slots  [2]int
	seq    int64
	id     entry.ID
	now    time.Time
	ready  []waiting // in order
	leases map[int64]machine.Lease
	ranges []entry.Enqueued
	held   map[shares.QueueID]int
	eased  uint64

	lateCharge bool // units count from the next tick on
	uncharged  map[shares.QueueID]int
	keepsGone  bool // withdrawn jobs stay
}

type waiting struct {
	place, id int64
	attempt   int32
	of        entry.Enqueued
}

func newToy(slots [2]int) *toy {
	return &toy{slots: slots, leases: map[int64]machine.Lease{}, held: map[shares.QueueID]int{}, uncharged: map[shares.QueueID]int{}}
}

func order(a, b waiting) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id)) }

func (m *toy) insert(w waiting) {
	i, _ := slices.BinarySearchFunc(m.ready, w, order)
	m.ready = slices.Insert(m.ready, i, w)
	m.eased++
}

func (m *toy) Apply(e entry.Entry) error {
	switch e := e.(type) {
	case entry.Enqueued:
		for id := e.Low; id <= e.High; id++ {
			m.insert(waiting{e.Place, id, e.Attempt, e})
		}
		m.ranges = append(m.ranges, e)
	case entry.Granted:
		return m.grant(e)
	case entry.Started:
		l, ok := m.leases[e.Job]
		if !ok {
			return fmt.Errorf("job %d is not live", e.Job)
		}
		l.Started = true
		m.leases[e.Job] = l
	case entry.Ended:
		return m.end(e)
	case entry.Revoked:
		l := m.leases[e.Job]
		l.Order = &machine.Order{Reason: e.Reason, GraceS: e.GraceS}
		m.leases[e.Job] = l
	case entry.Killed:
		if !m.keepsGone {
			m.ready = slices.DeleteFunc(m.ready, func(w waiting) bool { return w.id >= e.Low && w.id <= e.High })
		}
		for id := e.Low; id <= e.High; id++ {
			if l, ok := m.leases[id]; ok {
				l.Killed, l.Order = true, &machine.Order{Reason: e.Reason, GraceS: e.GraceS}
				m.leases[id] = l
			}
		}
	case entry.Tick:
		m.now = e.Now
		clear(m.uncharged)
	}
	return nil
}

func (m *toy) grant(g entry.Granted) error {
	i := slices.IndexFunc(m.ready, func(w waiting) bool { return w.id == g.Job && w.attempt == g.Attempt })
	if i < 0 {
		return fmt.Errorf("job %d, attempt %d is not ready", g.Job, g.Attempt)
	}
	m.ready = slices.Delete(m.ready, i, i+1)
	m.leases[g.Job] = machine.Lease{Granted: g}
	if m.held[g.Queue]++; m.lateCharge {
		m.uncharged[g.Queue]++
	}
	return nil
}

func (m *toy) end(e entry.Ended) error {
	l, ok := m.leases[e.Job]
	if !ok || l.Attempt != e.Attempt {
		return fmt.Errorf("job %d, attempt %d is not live", e.Job, e.Attempt)
	}
	delete(m.leases, e.Job)
	m.held[l.Queue]--
	m.eased++
	if !e.Next.Final() {
		for _, r := range m.ranges {
			if r.Low <= e.Job && e.Job <= r.High {
				m.insert(waiting{l.Place, e.Job, e.Attempt + 1, r})
			}
		}
	}
	return nil
}

func (m *toy) Reach(seq int64, id entry.ID) { m.seq, m.id = seq, id }

func (m *toy) Stand() (int64, entry.ID) { return m.seq, m.id }
func (m *toy) Now() time.Time           { return m.now }
func (m *toy) Eased() uint64            { return m.eased }

func (m *toy) Decide(p machine.Pull) (d machine.Decision) {
	nonces := rand.New(rand.NewPCG(uint64(p.Nonce), 0))
	for len(d.Entries) < p.Most && len(m.ready) > 0 {
		if slots := m.slots[p.Queue-1]; slots > 0 && m.held[p.Queue]-m.uncharged[p.Queue] >= slots {
			break
		}
		w := m.ready[0]
		g := entry.Granted{Job: w.id, Attempt: w.attempt, Nonce: nonces.Int64(), Task: w.of.Task, Share: w.of.Share, Shape: w.of.Shape, Place: w.place,
			Queue: p.Queue, Units: 1000, Pilot: p.Pilot, Node: p.Node, Request: p.Request}
		if err := m.grant(g); err != nil {
			panic(err)
		}
		d.Entries, d.Verdict = append(d.Entries, g), machine.Given
	}
	return d
}

func (m *toy) Lease(job int64) (machine.Lease, bool) {
	l, ok := m.leases[job]
	return l, ok
}

func (m *toy) Leases() iter.Seq[machine.Lease] {
	return func(yield func(machine.Lease) bool) {
		for _, id := range slices.Sorted(maps.Keys(m.leases)) {
			if !yield(m.leases[id]) {
				return
			}
		}
	}
}

func (m *toy) Answered(request entry.ID) (all []machine.Lease) {
	for l := range m.Leases() {
		if l.Request == request {
			all = append(all, l)
		}
	}
	return all
}

func (m *toy) Digest() [32]byte {
	h := sha256.New()
	fmt.Fprint(h, m.now.UnixNano())
	for _, w := range m.ready {
		fmt.Fprint(h, w.place, w.id, w.attempt, ";")
	}
	for l := range m.Leases() {
		fmt.Fprint(h, l.Job, l.Attempt, l.Nonce, l.Started, l.Order != nil, l.Queue, ";")
	}
	return [32]byte(h.Sum(nil))
}

// Stood is nothing: it has no pools.
func (m *toy) Stood() []entry.Stood { return nil }

// Placed is false: it knows no claims.
func (m *toy) Placed() bool { return false }

// Walltime is the same: all jobs are alike.
func (m *toy) Walltime(seconds int64) int64 { return seconds }
