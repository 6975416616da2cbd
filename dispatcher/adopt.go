package dispatcher

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// adopt builds everything that follows from the site version; counts and windows stay.
func (s *state) adopt(v shares.Version, epoch int64, limits map[limitKey]*limit) {
	maps.Copy(s.memory, s.memories())
	s.rememberServed()
	s.version, s.epoch, s.limits = v, epoch, limits
	old := s.queues
	s.queues, s.byName, s.pools = map[shares.QueueID]*queue{}, map[string]*queue{}, map[string]*pool{}
	for name, c := range capacities(v.Queues) {
		p := &pool{name: name, book: shares.NewPool(v.Tree, name), capacity: c, limit: limits[poolLimit(name)], lastGrant: make([]int64, len(v.Tree.Nodes))}
		p.book.SetCapacity(p.full())
		p.lends, p.demand = p.book.Lends(), make([]shares.Units, len(v.Tree.Nodes))
		p.lag = make([]float64, len(v.Tree.Nodes))
		p.pathLimits = pathLimits(v.Tree, name, limits)
		s.pools[name] = p
	}
	s.recall(s.memory)
	for i, q := range v.Queues {
		entry := &queue{Queue: q, pos: i, pool: s.pools[q.Pool], limit: limits[queueLimit(q.ID)], pilots: map[string]seen{}}
		if before := old[q.ID]; before != nil {
			entry.pilots, entry.kept, entry.elsewhere = before.pilots, before.kept, before.elsewhere
		}
		s.queues[q.ID], s.byName[q.Name] = entry, entry
	}
	s.adoptPolicies()
	s.hangTargets(limits)
	s.adoptSupplies()
	// Nodes of the former tree are no nodes of this one, and no limit is the one that it was.
	s.leaves, s.dirty, s.nOpen = make([]leaf, len(v.Tree.Nodes)), s.dirty[:0], 0
	s.adoptUsers()
	s.forgetContenders()
	s.making.passed = nil
	for _, sum := range s.sums {
		sum.queues, sum.power = nil, nil
	}
	for _, o := range slices.Concat(s.byAt, s.ofNodes) {
		s.place(o)
	}
	for _, w := range s.windows {
		s.hang(w)
	}
	for _, of := range s.held {
		for key, h := range of {
			s.book(key, h.jobs, h.units)
		}
	}
}

func pathLimits(t *shares.Tree, pool string, limits map[limitKey]*limit) [][]*limit {
	of := make([][]*limit, len(t.Nodes))
	for i, n := range t.Nodes { // parents come first
		if n.Parent >= 0 {
			of[i] = append(of[i], of[n.Parent]...)
		}
		if l := limits[shareLimit(n.ID, pool)]; l != nil {
			of[i] = append(of[i], l)
		}
	}
	return of
}
