package sim

import (
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// backfill is the one line of the rule EASY, for finding those behind its head that may start: a tree over the places
// in the line, which has for each stretch of it the narrowest and the shortest of the jobs that wait there.
type backfill struct {
	jobs    []Job   // by place
	placeOf []int   // by Seq
	started []bool  // by Seq
	least   []least // 1 is the whole line, the halves of k are 2k and 2k+1
	width   int     // places of the tree, a power of two
}

type least struct {
	units   shares.Units
	runtime time.Duration
}

var nobody = least{math.MaxInt64, math.MaxInt64}

// newBackfill returns an empty line for all jobs to come.
func newBackfill(arrivals []Job) *backfill {
	b := &backfill{jobs: slices.Clone(arrivals), placeOf: make([]int, len(arrivals)), started: make([]bool, len(arrivals)), width: 1}
	slices.SortFunc(b.jobs, func(x, y Job) int {
		if x.goesBefore(&y) {
			return -1
		}
		return 1
	})
	for place := range b.jobs {
		b.placeOf[b.jobs[place].Seq] = place
	}
	for b.width < len(b.jobs) {
		b.width *= 2
	}
	b.least = slices.Repeat([]least{nobody}, 2*b.width)
	return b
}

func (b *backfill) arrive(j Job) { b.set(j, least{j.Units, j.Runtime}) }

func (b *backfill) start(j Job) {
	b.started[j.Seq] = true
	b.set(j, nobody)
}

func (b *backfill) set(j Job, l least) {
	at := b.width + b.placeOf[j.Seq]
	b.least[at] = l
	for at /= 2; at > 0; at /= 2 {
		x, y := b.least[2*at], b.least[2*at+1]
		b.least[at] = least{min(x.units, y.units), min(x.runtime, y.runtime)}
	}
}

// gap is what a job behind the head may use: it fits beside the head when that starts, or ends before.
type gap struct {
	free   shares.Units
	before time.Duration
	spare  shares.Units // at most free
}

func (g gap) takes(l least) bool {
	return l.units <= g.spare || l.units <= g.free && l.runtime <= g.before
}

// next is the first place from one on whose job waits and may use the gap; -1 if there is none.
func (b *backfill) next(from int, g gap) int { return b.search(1, 0, b.width, from, g) }

// search is next in stretch k, which has the places from low to before high.
func (b *backfill) search(k, low, high, from int, g gap) int {
	if high <= from || !g.takes(b.least[k]) {
		return -1
	}
	if high-low == 1 {
		return low
	}
	middle := (low + high) / 2
	if at := b.search(2*k, low, middle, from, g); at >= 0 {
		return at
	}
	return b.search(2*k+1, middle, high, from, g)
}

// startLine starts the jobs at the head of the line while they fit, then those behind that do not delay the next one.
func (r *run) startLine() error {
	anyone := gap{free: math.MaxInt64 - 1, before: math.MaxInt64 - 1, spare: math.MaxInt64 - 1}
	for at := 0; r.Free() > 0; at++ {
		if at = r.oneLine.next(at, anyone); at < 0 {
			return nil
		}
		j := r.oneLine.jobs[at]
		if _, ok := r.pool.Admits(j.Leaf, j.Units); !ok {
			continue // others go first until it may
		}
		if j.Units > r.Free() {
			return r.overtake(at, r.promise(j))
		}
		r.Decided(j)
		if err := r.startInLine(j); err != nil {
			return err
		}
	}
	return nil
}

// overtake starts jobs behind a place, in their order, that do not delay the promised one there.
func (r *run) overtake(at int, p *promise) error {
	for r.Free() > 0 {
		g := gap{free: r.Free(), before: p.at - r.now, spare: min(p.spare, r.Free())}
		if at = r.oneLine.next(at+1, g); at < 0 {
			return nil
		}
		j := r.oneLine.jobs[at]
		if _, ok := r.pool.Admits(j.Leaf, j.Units); !ok {
			continue
		}
		if j.Runtime > g.before {
			p.spare -= j.Units
		}
		r.overtook++
		if err := r.startInLine(j); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) startInLine(j Job) error {
	r.oneLine.start(j)
	return r.start(j)
}

// dropStarted takes jobs off the head of a leaf's line that have started out of turn.
func (r *run) dropStarted(leaf int) {
	for line := &r.lines[leaf]; len(line.items) > 0 && r.oneLine.started[line.first().Seq]; {
		line.pop()
	}
}

// stuck counts the jobs of a leaf that never started.
func (r *run) stuck(leaf int) (n int) {
	for _, j := range r.lines[leaf].items {
		if r.oneLine == nil || !r.oneLine.started[j.Seq] {
			n++
		}
	}
	return n
}
