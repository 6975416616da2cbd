package generator

import (
	"math"

	"github.com/divvyhq/divvy/generator/spec"
)

// weight is what a piece, or what is left of a lot, comes to.
type weight struct{ inputs, events, bytes int64 }

func (w weight) add(o weight) weight {
	return weight{w.inputs + o.inputs, w.events + o.events, w.bytes + o.bytes}
}

// model says what a piece asks of a slot: walltime W ≥ cpu·events/(cores·core power·efficiency) + base, scratch
// S ≥ inputs + max(500 MB, output·events) + work. Figures that are 0 are not known, and ask for nothing.
type model struct {
	seconds float64 // of walltime an event
	base    float64
	output  float64 // MB an event
	work    float64
	disk    bool // scratch is computed
}

const (
	leastOutputMB = 500
	megabyte      = 1e6
)

func (m model) walltime(w weight) float64 {
	if m.seconds == 0 { // base alone is not what a piece takes
		return 0
	}
	return m.seconds*float64(w.events) + m.base
}

func (m model) scratch(w weight) float64 {
	if !m.disk {
		return 0
	}
	return float64(w.bytes)/megabyte + max(leastOutputMB, m.output*float64(w.events)) + m.work
}

// size is one size of pieces: what they may be at most. 0 is no bound.
type size struct {
	most     weight
	walltime float64 // seconds
	scratch  float64 // MB
	shape    int32   // of the pieces, as far as they keep to it
	need     room    // walltime and scratch that this shape asks for
}

func (s size) fits(m model, w weight) bool {
	return within(w.inputs, s.most.inputs) && within(w.events, s.most.events) && within(w.bytes, s.most.bytes) &&
		(s.walltime == 0 || m.walltime(w) <= s.walltime) && (s.scratch == 0 || m.scratch(w) <= s.scratch)
}

func within(n, most int64) bool { return most == 0 || n <= most }

// events is the most that fit into a piece with so many bytes of input, and so many more for each of them.
func (s size) events(m model, bytes int64, each float64) int64 {
	most := math.Inf(1)
	if s.most.events > 0 {
		most = float64(s.most.events)
	}
	if s.walltime > 0 && m.seconds > 0 {
		most = min(most, (s.walltime-m.base)/m.seconds)
	}
	if s.scratch > 0 && m.disk {
		room := s.scratch - m.work - float64(bytes)/megabyte
		each /= megabyte
		if each > 0 {
			most = min(most, (room-leastOutputMB)/each)
		}
		if m.output > 0 {
			most = min(most, room/(each+m.output))
		}
		if room < leastOutputMB {
			most = 0
		}
	}
	switch {
	case !(most >= 1): // one event has to go somewhere
		return 1
	case most > 1<<62:
		return math.MaxInt64
	}
	n := int64(most)
	if up := (weight{events: n + 1, bytes: bytes}); each == 0 && s.fits(m, up) { // 3600/1.2 is 2999.9999999999995
		n++
	}
	return n
}

// pieces estimates how many pieces the rest of a lot makes: at least 1 while there is a rest, and no more than it has parts.
func (s size) pieces(m model, rest weight, shared bool) int64 {
	events := max(rest.events, 1)
	if rest.inputs == 0 { // no inputs: what is left is events
		return spec.Ceil(rest.events, s.events(m, 0, 0))
	}
	each := s.events(m, 0, float64(rest.bytes)/float64(events))
	if shared && each < events/rest.inputs { // each of the pieces of an input needs all of its bytes
		each = s.events(m, rest.bytes/rest.inputs, 0)
	}
	var n int64
	if shared {
		n = spec.Ceil(events, each)
	} else {
		n = spec.Ceil(rest.inputs, int64(max(1, min(float64(each)/float64(events), 1)*float64(rest.inputs))))
	}
	if s.most.bytes > 0 {
		n = max(n, spec.Ceil(rest.bytes, s.most.bytes))
	}
	n = max(n, spec.Ceil(rest.inputs, min(spec.MaxPerJob, orAny(s.most.inputs))))
	if !shared {
		n = min(n, rest.inputs)
	}
	return max(n, 1)
}

func orAny(n int64) int64 {
	if n == 0 {
		return math.MaxInt64
	}
	return n
}
