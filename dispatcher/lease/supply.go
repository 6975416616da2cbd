package lease

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// supply is what pilots offered lately: each by its last pull, less what that was granted. A new leader begins with nothing, so it knows all
// after a round of pulls. A pilot costs some hundred bytes.
type supply struct {
	seed   maphash.Seed
	pilots map[int64]offer // by a hash of queue and name: two with the same one count as one
	seen   *deadlines      // when they are forgotten
	pools  map[string]shares.Units
	polled map[shares.QueueID]time.Duration // when a pilot last pulled at a queue: those at which pilots pull by the log
}

type offer struct {
	pool     string
	unfilled shares.Units
}

// mostPilots bounds how many are remembered. New ones do not count while there are more.
const mostPilots = 1 << 20

func newSupply(now time.Duration) *supply {
	return &supply{seed: maphash.MakeSeed(), pilots: map[int64]offer{}, seen: newDeadlines(now), pools: map[string]shares.Units{},
		polled: map[shares.QueueID]time.Duration{}}
}

func (s *supply) id(p *machine.Pull) int64 {
	return int64(maphash.String(s.seed, p.Pilot) ^ uint64(p.Queue)*0x9e3779b97f4a7c15)
}

// set replaces what a pilot offers. A pool of which nothing is left has no entry.
func (s *supply) set(id int64, o offer) {
	if before, ok := s.pilots[id]; ok {
		if s.pools[before.pool] -= before.unfilled; s.pools[before.pool] <= 0 {
			delete(s.pools, before.pool)
		}
	}
	if o == (offer{}) {
		delete(s.pilots, id)
		return
	}
	if s.pilots[id] = o; o.unfilled > 0 {
		s.pools[o.pool] += o.unfilled
	}
}

// granted takes off what a pull got.
func (s *supply) granted(p *machine.Pull, units shares.Units) {
	id := s.id(p)
	if o, ok := s.pilots[id]; ok {
		o.unfilled = max(0, o.unfilled-units)
		s.set(id, o)
	}
}

// offers are the pools of which pilots offer more than nothing.
func (s *supply) offers() (all []entry.Offer) {
	for _, pool := range slices.Sorted(maps.Keys(s.pools)) {
		all = append(all, entry.Offer{Pool: pool, Units: s.pools[pool]})
	}
	return all
}

// pulled notes a pull, and says in the log that pilots pull at its queue.
func (s *supply) pulled(l *leader, p *machine.Pull) {
	q, ok := l.cfg.Queue(p.Queue)
	if !ok {
		return
	}
	if _, known := s.polled[p.Queue]; !known {
		l.must(l.add(entry.Polled{Queue: p.Queue, Is: true}))
	}
	s.polled[p.Queue] = l.now
	id := s.id(p)
	until := l.now + l.cfg.Timing.Polled
	if _, known := s.pilots[id]; known {
		s.seen.prolong(id, until)
	} else if len(s.pilots) < mostPilots {
		s.seen.hold(id, until)
	} else {
		return
	}
	s.set(id, offer{q.Pool, job.RoomOf(p.Slot, q).Offered(q, max(1, p.Most))})
}

// unpoll forgets pilots that pulled long ago, and says of which queues there are none any more.
func (s *supply) unpoll(l *leader) {
	for _, id := range s.seen.over(l.now, 0, lookAtMost) {
		s.set(id, offer{})
	}
	for _, q := range slices.Sorted(maps.Keys(s.polled)) {
		if l.now-s.polled[q] >= l.cfg.Timing.Polled {
			delete(s.polled, q)
			l.must(l.add(entry.Polled{Queue: q}))
		}
	}
}
