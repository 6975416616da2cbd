package wanted

import (
	"math"

	"github.com/divvyhq/divvy/shares/pilots"
)

// Input is the moment that is solved.
type Input struct {
	Queues   []Queue
	Places   [][]int // sets of queues by position in Queues, ascending
	Kinds    []Kind
	Leaves   []Leaf
	Supplies []int64 // free units of resources
}

// Queue is a queue with what its pilots do.
type Queue struct {
	Provision *pilots.Provision // filled; nil: its pilots come from elsewhere
	Pool      int
	Power     int64 // thousandths of a unit that a core counts
	Slots     int64 // cores that may be held; below 0: no bound
	HeldCores int64
	Held      map[Size]int64 // running jobs
	Free      int64          // cores of pulls that wait
}

// Kind counts jobs of a share that are ready or to come and have the same size and queues.
type Kind struct {
	Leaf  int // position in Leaves
	Place int // position in Places
	Size  Size
	Jobs  int64
	Units []Units // of resources that each job holds
}

// Size is what a job needs of a pilot.
type Size struct {
	Cores     int
	MemoryMB  int64
	WalltimeS int64
}

// Units are units of the resource at a position of Supplies.
type Units struct {
	Supply int
	N      int64
}

// Leaf is what a share may hold beyond what it holds, by pool, in thousandths of a unit. A pool that it lacks has no bound.
type Leaf struct{ Budget map[int]int64 }

// micro are the parts of a pilot in which rooms are counted, so that sums are exact.
const micro = 1_000_000

// room is a queue with the parts of pilots that are taken and free. A queue whose pilots come from elsewhere has pilots of one core, and
// no more of them than wait.
type room struct {
	*Queue
	held  int64 // by running jobs
	alive int64 // held, and what waits for jobs
	idle  int64 // of what waits, not yet split away
	free  int64 // what more jobs may take, pilots to start included
}

// pilot returns the cores of a pilot of the queue.
func (q *Queue) pilot() int64 {
	if q.Provision == nil {
		return 1
	}
	return int64(q.Provision.Cores)
}

func roomOf(q *Queue) room {
	part := func(cores int64) int64 { return min(cores, math.MaxInt32) * micro / q.pilot() }
	r := room{Queue: q, idle: part(q.Free)}
	r.alive = part(q.HeldCores) + r.idle
	for size, jobs := range q.Held {
		cost := q.cost(size)
		if cost == 0 { // it came with a pilot of another size
			cost = part(int64(max(1, size.Cores)))
		}
		r.held += jobs * cost
	}
	if q.Provision == nil {
		r.free = r.idle
		return r
	}
	r.free = max(0, int64(q.Provision.Max)*micro-r.held)
	if q.Slots >= 0 {
		r.free = min(r.free, part(max(0, q.Slots-q.HeldCores)))
	}
	return r
}

// cost is the part of a pilot that a job takes; 0: no pilot of the queue can run it.
func (q *Queue) cost(s Size) int64 {
	if q.Provision == nil {
		return int64(max(1, s.Cores)) * micro
	}
	n := q.Provision.Fits(s.Cores, s.MemoryMB, s.WalltimeS)
	if n <= 0 {
		return 0
	}
	return (micro + n - 1) / n
}
