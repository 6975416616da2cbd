package wanted

import (
	"cmp"
	"slices"
)

// Need is what a queue needs, in millionths of a pilot.
type Need struct {
	Held    int64 // by jobs that run
	Alive   int64 // room of the pilots that are there
	Fits    int64 // of all ready and coming jobs that its pilots can run
	Allowed int64 // of Fits, what shares and resources allow
	Split   int64 // of Allowed, what other queues do not take
	Jobs    int64 // of Split
	Waiting int64 // jobs of Allowed
}

// group counts jobs of all shares with the same size and queues.
type group struct {
	place int // in the order of places
	size  Size
	jobs  int64
}

// Solve returns the needs of all queues, by position.
func Solve(in Input) []Need {
	rooms := make([]room, len(in.Queues))
	needs := make([]Need, len(in.Queues))
	for i := range in.Queues {
		rooms[i] = roomOf(&in.Queues[i])
		needs[i].Held, needs[i].Alive = rooms[i].held, rooms[i].alive
	}
	places, rank := order(in.Places)
	fits, allowed := map[group]int64{}, map[group]int64{}
	for _, k := range in.allow(rank) {
		key := group{place: rank[k.Place], size: k.Size}
		fits[key] += k.all
		allowed[key] += k.Jobs
	}
	count := func(groups []group, to func(*Need) *int64) {
		for _, g := range groups {
			for _, q := range places[g.place] {
				*to(&needs[q]) += g.jobs * rooms[q].cost(g.size)
			}
		}
	}
	count(sorted(fits), func(n *Need) *int64 { return &n.Fits })
	groups := sorted(allowed)
	count(groups, func(n *Need) *int64 { return &n.Allowed })
	for _, g := range groups {
		for _, q := range places[g.place] {
			if rooms[q].cost(g.size) > 0 {
				needs[q].Waiting += g.jobs
			}
		}
		s := spread{rooms: rooms, needs: needs, at: places[g.place], size: g.size}
		s.fill(s.fill(g.jobs, func(r *room) int64 { return min(r.idle, r.free) }), func(r *room) int64 { return r.free })
	}
	return needs
}

// order sorts places: the fewest queues first. rank is the new position of each.
func order(places [][]int) (out [][]int, rank []int) {
	at := make([]int, len(places))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(places[a]), len(places[b])), slices.Compare(places[a], places[b]))
	})
	out, rank = make([][]int, len(places)), make([]int, len(places))
	for i, p := range at {
		out[i], rank[p] = places[p], i
	}
	return out, rank
}

// sorted lists groups: the fewest queues first, then the widest jobs.
func sorted(jobs map[group]int64) []group {
	list := make([]group, 0, len(jobs))
	for g, n := range jobs {
		if g.jobs = n; n > 0 {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b group) int { return cmp.Or(cmp.Compare(a.place, b.place), compareSizes(a.size, b.size)) })
	return list
}

func compareSizes(a, b Size) int {
	return cmp.Or(-cmp.Compare(a.Cores, b.Cores), -cmp.Compare(a.MemoryMB, b.MemoryMB), -cmp.Compare(a.WalltimeS, b.WalltimeS))
}

// spread splits the jobs of a group over its queues.
type spread struct {
	rooms []room
	needs []Need
	at    []int
	size  Size
}

// fill splits jobs in proportion to a room of the queues, and returns those that found none. A queue gets whole pilots as long as
// there are jobs for them, so that few jobs do not become a pilot at each of many queues.
func (s *spread) fill(jobs int64, has func(*room) int64) (left int64) {
	var sum int64
	free := make([]int64, len(s.at))
	for i, q := range s.at {
		if cost := s.rooms[q].cost(s.size); cost > 0 {
			free[i] = min(has(&s.rooms[q])/cost, 1<<31)
			sum += free[i]
		}
	}
	left = min(jobs, sum)
	over := jobs - left
	if left == 0 {
		return over
	}
	due, given := 0.0, int64(0)
	part := float64(left) / float64(sum)
	for i, q := range s.at {
		due += part * float64(free[i])
		n := min(max(0, int64(due+0.5)-given), free[i], left)
		if whole := s.whole(q); n < free[i] && n < left {
			n -= n % whole
		}
		s.give(q, n)
		free[i], left, given = free[i]-n, left-n, given+n
	}
	for i, q := range s.at {
		n := min(left, free[i])
		s.give(q, n)
		left -= n
	}
	return over
}

// whole is how many of the jobs fill a pilot of a queue.
func (s *spread) whole(q int) int64 { return max(1, micro/max(1, s.rooms[q].cost(s.size))) }

func (s *spread) give(q int, jobs int64) {
	part := jobs * s.rooms[q].cost(s.size)
	r, n := &s.rooms[q], &s.needs[q]
	r.free -= part
	r.idle = max(0, r.idle-part)
	n.Split += part
	n.Jobs += jobs
}
