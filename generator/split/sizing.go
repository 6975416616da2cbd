package split

import (
	"math"

	"github.com/divvyhq/divvy/generator/spec"
)

// Weight is what a piece, or what is left of a lot, comes to.
type Weight struct{ Inputs, Events, Bytes int64 }

func (w Weight) add(o Weight) Weight {
	return Weight{w.Inputs + o.Inputs, w.Events + o.Events, w.Bytes + o.Bytes}
}

// Model says what a piece asks of a slot: walltime W ≥ cpu·events/(cores·core power·efficiency) + base, scratch
// S ≥ inputs + max(500 MB, output·events) + work. Figures that are 0 are not known, and ask for nothing.
type Model struct {
	seconds float64 // of walltime an event
	base    float64
	output  float64 // MB an event
	work    float64
	disk    bool // scratch is computed
}

const (
	leastOutputMB = 500
	Megabyte      = 1e6
)

// Walltime is what a piece of a weight takes, in seconds; 0: that is not known.
func (m Model) Walltime(w Weight) float64 {
	if m.seconds == 0 { // base alone is not what a piece takes
		return 0
	}
	return m.seconds*float64(w.Events) + m.base
}

func (m Model) scratch(w Weight) float64 {
	if !m.disk {
		return 0
	}
	return float64(w.Bytes)/Megabyte + max(leastOutputMB, m.output*float64(w.Events)) + m.work
}

// size is one size of pieces: what they may be at most. 0 is no bound.
type size struct {
	most     Weight
	Walltime float64 // seconds
	Scratch  float64 // MB
	Shape    int32   // of the pieces, as far as they keep to it
	Need     Room    // walltime and scratch that this shape asks for
}

// Fits says whether a piece of a weight keeps to the size.
func (s size) Fits(m Model, w Weight) bool {
	return within(w.Inputs, s.most.Inputs) && within(w.Events, s.most.Events) && within(w.Bytes, s.most.Bytes) &&
		(s.Walltime == 0 || m.Walltime(w) <= s.Walltime) && (s.Scratch == 0 || m.scratch(w) <= s.Scratch)
}

func within(n, most int64) bool { return most == 0 || n <= most }

// events is the most that fit into a piece with so many bytes of input, and so many more for each of them.
func (s size) events(m Model, bytes int64, each float64) int64 {
	most := math.Inf(1)
	if s.most.Events > 0 {
		most = float64(s.most.Events)
	}
	if s.Walltime > 0 && m.seconds > 0 {
		most = min(most, (s.Walltime-m.base)/m.seconds)
	}
	if s.Scratch > 0 && m.disk {
		room := s.Scratch - m.work - float64(bytes)/Megabyte
		each /= Megabyte
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
	if up := (Weight{Events: n + 1, Bytes: bytes}); each == 0 && s.Fits(m, up) { // 3600/1.2 is 2999.9999999999995
		n++
	}
	return n
}

// pieces estimates how many pieces the rest of a lot makes: at least 1 while there is a rest, and no more than it has parts.
func (s size) pieces(m Model, rest Weight, shared bool) int64 {
	events := max(rest.Events, 1)
	if rest.Inputs == 0 { // no inputs: what is left is events
		return spec.Ceil(rest.Events, s.events(m, 0, 0))
	}
	each := s.events(m, 0, float64(rest.Bytes)/float64(events))
	if shared && each < events/rest.Inputs { // each of the pieces of an input needs all of its bytes
		each = s.events(m, rest.Bytes/rest.Inputs, 0)
	}
	var n int64
	if shared {
		n = spec.Ceil(events, each)
	} else {
		n = spec.Ceil(rest.Inputs, int64(max(1, min(float64(each)/float64(events), 1)*float64(rest.Inputs))))
	}
	if s.most.Bytes > 0 {
		n = max(n, spec.Ceil(rest.Bytes, s.most.Bytes))
	}
	n = max(n, spec.Ceil(rest.Inputs, min(spec.MaxPerJob, orAny(s.most.Inputs))))
	if !shared {
		n = min(n, rest.Inputs)
	}
	return max(n, 1)
}

func orAny(n int64) int64 {
	if n == 0 {
		return math.MaxInt64
	}
	return n
}
