package shares

import (
	"math"
	"time"
)

// memory of past use, of the shares with a half_life; a pool without any has none. By seat, in thousandths.
//
// The lag of a share is what it missed, ∫(target − held)dt, the past fading with the half-life: see Fade. A deficit
// that never changes makes a lag of deficit·half_life/ln 2, so lag·ln 2/half_life is the mean deficit over the memory,
// in units. By that mean the target is shifted, up to clamp either way (its own target if not given): the share
// makes good in one half-life about half of what it missed in the last, and a share that could not run for hours
// has at most its own target in a row beyond its turn (W5).
//
// Among siblings shifts sum up to nothing. What some gain beyond what others lose is taken, by weight, from those
// that gain nothing, be there a memory of them or not, and the other way round; a gain for which nobody can give is
// cut, all gains by the same part. No shift takes a share below what it owns, below its min, above its demand and
// thus its max, or, where borrowing has a limit, beyond that. Lags are counted by targets without shifts, so making
// good makes the lag smaller.
type memory struct {
	half  []float64 // half-life in seconds; 0: none
	clamp []float64 // most units of shift; Inf: its own target
	lag   []float64 // thousandths × seconds
	off   bool      // targets without shifts are being made
}

// newMemory is nil if no share has a half-life.
func newMemory(p *Pool) *memory {
	n := len(p.nodeOf)
	m := &memory{half: make([]float64, n), clamp: make([]float64, n), lag: make([]float64, n)}
	some := false
	for seat, node := range p.nodeOf {
		plan := &p.tree.Nodes[node].Plan
		m.half[seat] = time.Duration(plan.HalfLife).Seconds()
		m.clamp[seat] = math.Inf(1)
		if u, ok := plan.Clamp.In(p.name); ok {
			m.clamp[seat] = float64(u)
		}
		if up := p.parent[seat]; plan.HalfLife > 0 && up >= 0 {
			p.families[p.kids[up]].remembers = true
			some = true
		}
	}
	if !some {
		return nil
	}
	return m
}

// Fade is the lag after a time dt with a deficit, target − held, that did not change: lag·2^(−dt/half) + ∫ deficit with
// the same fading. For dt far below the half-life that is lag·2^(−dt/half) + deficit·dt.
func Fade(lag, deficit float64, half, dt time.Duration) float64 {
	kept := math.Exp2(-float64(dt) / float64(half))
	return lag*kept + deficit*half.Seconds()/math.Ln2*(1-kept)
}

// Remember lets time pass: during dt every share held what it holds now, and R was r. Without a half-life anywhere it
// does nothing.
func (p *Pool) Remember(r Units, dt time.Duration) {
	if p.memory == nil {
		return
	}
	p.memory.off = true
	targets := p.Targets(r)
	p.memory.off = false
	for seat, half := range p.memory.half {
		if half > 0 {
			deficit := targets[p.nodeOf[seat]] - float64(p.held[seat])
			p.memory.lag[seat] = Fade(p.memory.lag[seat], deficit, time.Duration(half*float64(time.Second)), dt)
		}
	}
}

// Lag is what a node with a half-life has missed, in thousandths of a unit times seconds; negative if it had too much.
func (p *Pool) Lag(node int) float64 {
	if p.memory == nil {
		return 0
	}
	return p.memory.lag[p.seatOf[node]]
}

// SetLag restores the lag of a node; one without a half-life has none.
func (p *Pool) SetLag(node int, lag float64) {
	if s := p.seatOf[node]; p.memory != nil && p.memory.half[s] > 0 {
		p.memory.lag[s] = lag
	}
}

// shift moves the parts of a family that was just filled by what its members remember.
func (s *solver) shift(f *family) {
	gains, losses := 0.0, 0.0
	for c := f.lo; c < f.hi; c++ {
		s.wish[c] = s.wished(c)
		gains += max(0, s.wish[c])
		losses += max(0, -s.wish[c])
	}
	switch {
	case gains > losses:
		given := s.balance(f, 1, gains-losses)
		s.move(f, (losses+given)/gains, 1)
	case losses > gains:
		given := s.balance(f, -1, losses-gains)
		s.move(f, 1, (gains+given)/losses)
	default:
		s.move(f, 1, 1)
	}
}

// balance finds somebody for what one side wishes beyond the other: with sign 1 givers for gains. It leaves the
// shifts of those in wish.
func (s *solver) balance(f *family, sign, beyond float64) (given float64) {
	for c := f.lo; c < f.hi; c++ {
		s.low[c], s.top[c] = 0, 0
		if sign*s.wish[c] > 0 {
			continue
		}
		low, high := s.reach(c)
		if sign > 0 {
			s.top[c] = max(0, s.wish[c]-low)
		} else {
			s.top[c] = max(0, high-s.wish[c])
		}
	}
	given = s.pour(f.all, stepShift, beyond)
	for c := f.lo; c < f.hi; c++ {
		if sign*s.wish[c] <= 0 {
			s.wish[c] -= sign * s.add[c]
		}
	}
	return given
}

// move shifts the parts, gains and losses cut to what they can be.
func (s *solver) move(f *family, gains, losses float64) {
	for c := f.lo; c < f.hi; c++ {
		if s.wish[c] > 0 {
			s.got[c] += s.wish[c] * gains
		} else {
			s.got[c] += s.wish[c] * losses
		}
	}
}

// wished is the shift that a seat's own memory asks for, within its reach.
func (s *solver) wished(c int32) float64 {
	half := s.memory.half[c]
	if half == 0 {
		return 0
	}
	low, high := s.reach(c)
	return min(max(s.memory.lag[c]*math.Ln2/half, low), high)
}

// reach is how far a seat's part may be shifted down, ≤ 0, and up, ≥ 0.
func (s *solver) reach(c int32) (low, high float64) {
	got, d := s.got[c], float64(s.pool.demand[c])
	most, least := d, min(d, s.owned[c])
	if s.limits != nil {
		least = min(d, s.limits.use[c]) + s.limits.asks[c]
		most = s.own[c] + s.beyondOwn(c)
	} else if s.floors != nil {
		least += float64(s.floors.asks[c])
	}
	low, high = min(0, least-got), max(0, most-got)
	if s.memory.half[c] > 0 {
		clamp := s.memory.clamp[c]
		if math.IsInf(clamp, 1) {
			clamp = got
		}
		low, high = max(low, -clamp), min(high, clamp)
	}
	return low, high
}
