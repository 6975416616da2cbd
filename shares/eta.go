package shares

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Ends is how jobs were seen to end: so many a second, of so many units each.
type Ends struct {
	PerSecond float64
	Units     float64 // thousandths
}

// ETA is how long a leaf will wait for its target at R = c if nothing is reclaimed, from the ends of jobs; false if
// it never gets there at that rate. Ends are by leaf; those of the root (node 0) stand for leaves that have none
// of their own, each with the part that it holds.
//
// The formula is the fluid limit of the pick. A slot that becomes free goes to whoever is furthest below its target,
// so a share below or at its target has all its own ends back, and a share j that is over by o(j) and frees ρ(j) =
// ends a second × units gives away ρ(j) until it is at its target: by time t, F(t) = Σ min(o(j), ρ(j)·t). Filling the
// largest deficit first makes all deficits reach zero together, when F(t) is their sum. So ETA = min{t: F(t) ≥ Σ
// deficits}. With one share over and one below it is deficit/ρ, and by Little's law (held = ρ × mean length) the time
// in which the deficit's part of that share's jobs ends.
func (p *Pool) ETA(c Units, leaf int, ends map[int]Ends) (wait time.Duration, ok bool) {
	targets := p.Targets(c)
	if targets[leaf]-float64(p.Held(leaf)) <= Tolerance {
		return 0, true
	}
	var from []source
	deficits := 0.0
	for _, l := range p.tree.Leaves() {
		short := targets[l] - float64(p.Held(l))
		if short > 0 {
			deficits += short
		} else if rate := p.freed(l, ends); rate > 0 && short < 0 {
			from = append(from, source{-short / rate, rate})
		}
	}
	deficits -= max(0, float64(min(c, p.demand[0])-p.held[0])) // free already
	return drain(from, deficits)
}

// source gives away rate thousandths a second for so many seconds.
type source struct{ seconds, rate float64 }

func (p *Pool) freed(leaf int, ends map[int]Ends) float64 {
	if e, ok := ends[leaf]; ok {
		return e.PerSecond * e.Units
	}
	if p.held[0] <= 0 {
		return 0
	}
	return ends[0].PerSecond * ends[0].Units * float64(p.Held(leaf)) / float64(p.held[0])
}

// drain is the time after which the sources have given so much.
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
