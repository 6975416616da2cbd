package shares

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Ends is the rate at which jobs were seen to end, and their mean size.
type Ends struct {
	PerSecond float64
	Units     float64 // thousandths
}

// ETA returns how long each node will wait for its target at R = c if nothing is reclaimed, or false if it never gets
// there at the present rate of ends. Ends are by leaf. The ends of the root (node 0) stand for leaves without ends of
// their own, in proportion to what each holds.
//
// The formula is the fluid limit of the pick. A free slot goes to the share furthest below its target, so a share
// below or at its target gets all its own ends back. A share j that is over by o(j) and frees ρ(j) = ends a second ×
// units gives away ρ(j) until it is at its target: by time t, F(t) = Σ min(o(j), ρ(j)·t). Filling the largest deficit
// first makes all deficits reach zero together, when F(t) is their sum. So ETA = min{t: F(t) ≥ Σ deficits}. With one
// share over and one below, ETA is deficit/ρ: by Little's law (held = ρ × mean length) the time in which the
// deficit's part of the first share's jobs ends.
//
// A leaf whose target is less than one job holds a whole job or none, so other rules give it a turn: see eta.next.
func (p *Pool) ETA(c Units, ends map[int]Ends) func(node int) (wait time.Duration, ok bool) {
	e := &eta{p: p, ends: ends, targets: p.Targets(c), free: max(0, float64(min(c, p.demand[0])-p.held[0])), known: map[[2]float64]answer{}}
	return func(node int) (time.Duration, bool) {
		a := e.of(node)
		return a.wait, a.ok
	}
}

// eta is a pool and what was derived from it.
type eta struct {
	p       *Pool
	ends    map[int]Ends
	targets []float64
	free    float64 // units that are free now
	all     *answer // of every node that is short by whole jobs
	known   map[[2]float64]answer
}

type answer struct {
	wait time.Duration
	ok   bool
}

// short is how far a node is below its target.
func (e *eta) short(node int) float64 { return e.targets[node] - float64(e.p.Held(node)) }

// job is the mean size of a leaf's ended jobs, or a unit if none ended.
func (e *eta) job(leaf int) float64 {
	if size := e.ends[leaf].Units; size > 0 {
		return size
	}
	return 1000
}

func (e *eta) of(node int) answer {
	if e.short(node) <= Tolerance {
		return answer{ok: true}
	}
	if e.p.tree.Leaf(node) {
		if job := e.job(node); e.targets[node] < job-Tolerance && e.p.Held(node) == 0 {
			return e.next(e.targets[node], job)
		}
	} else if best, small := e.smallBranch(node); small {
		return best
	}
	if e.all == nil {
		a := e.fluid()
		e.all = &a
	}
	return *e.all
}

// smallBranch is the earliest answer among the children of a node that holds nothing and has a target of less than a
// unit.
func (e *eta) smallBranch(node int) (best answer, small bool) {
	if e.p.Held(node) > 0 || e.targets[node] >= 1000-Tolerance {
		return best, false
	}
	for _, below := range e.p.tree.Nodes[node].Children {
		if e.short(below) <= Tolerance {
			continue
		}
		if a := e.of(below); a.ok && (!best.ok || a.wait < best.wait) {
			best = a
		}
	}
	return best, true
}

// fluid is the time until all deficits are filled.
func (e *eta) fluid() answer {
	var from []source
	deficits := 0.0
	for _, l := range e.p.tree.Leaves() {
		if short := e.short(l); short > 0 {
			deficits += short
		} else if rate := e.freed(l); rate > 0 && short < 0 {
			from = append(from, source{-short / rate, rate})
		}
	}
	wait, ok := drain(from, deficits-e.free)
	return answer{wait, ok}
}

// next is how long a leaf waits that holds nothing and is short by less than one of its jobs: the time until its turn
// for a whole job. It is an upper bound, since among leaves that are equally short the one that waited longest goes
// first.
//
//   - Before its turn every other leaf gets as many jobs as bring that leaf's deficit below this one's.
//   - A leaf that holds jobs gives away, one by one, those whose end leaves it no further below its target than this
//     leaf; it gets the others back. At 9.7 with ten jobs it is 0.7 short after an end, and so keeps all jobs from a
//     leaf with a target of 0.3, for ever.
//   - Jobs given to leaves that are as short as this one are given away again when they end.
func (e *eta) next(short, job float64) answer {
	key := [2]float64{short, job}
	if a, ok := e.known[key]; ok {
		return a
	}
	var from []source
	first, alike := 0.0, -job // what others get first: for good, and for a turn; this leaf is among the latter
	given, rate := 0.0, 0.0
	for _, l := range e.p.tree.Leaves() {
		size, before := e.job(l), e.short(l)-short
		n := math.Floor((math.Abs(before) + Tolerance) / size)
		switch exact := math.Abs(before)-n*size <= Tolerance; {
		case before >= -Tolerance && exact:
			first, alike = first+n*size, alike+size
		case before > 0:
			first += (n + 1) * size
		default:
			if r := e.freed(l); r > 0 && n > 0 {
				from = append(from, source{n * size / r, r})
				given, rate = given+n*size, rate+r*n*size/float64(max(1, e.p.Held(l)))
			}
		}
	}
	a := answer{}
	given += e.free
	if first+job <= given+Tolerance {
		// Jobs of leaves that are alike go round at the rate at which they end.
		round := max(0, first+alike+job-given)
		a.wait, a.ok = drain(from, min(first+alike+job, given)-e.free)
		if a.ok && round > 0 {
			a.ok = rate > 0
			a.wait += seconds(round / max(rate, 1e-9))
		}
	}
	e.known[key] = a
	return a
}

// source gives away rate thousandths a second for so many seconds.
type source struct{ seconds, rate float64 }

// freed is the rate at which a leaf's jobs free units, in thousandths a second.
func (e *eta) freed(leaf int) float64 {
	if own, ok := e.ends[leaf]; ok {
		return own.PerSecond * own.Units
	}
	if e.p.held[0] <= 0 {
		return 0
	}
	return e.ends[0].PerSecond * e.ends[0].Units * float64(e.p.Held(leaf)) / float64(e.p.held[0])
}

// drain is the time until the sources have given away need.
func drain(from []source, need float64) (time.Duration, bool) {
	slices.SortFunc(from, func(a, b source) int { return cmp.Compare(a.seconds, b.seconds) })
	rate, given, at := 0.0, 0.0, 0.0
	for _, s := range from {
		rate += s.rate
	}
	for _, s := range from {
		if given+rate*(s.seconds-at) >= need-Tolerance {
			break
		}
		given += rate * (s.seconds - at)
		rate -= s.rate
		at = s.seconds
	}
	if need <= given+Tolerance {
		return seconds(at), true
	}
	if rate <= 1e-9 {
		return 0, false
	}
	return seconds(at + (need-given)/rate), true
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/2))
}
