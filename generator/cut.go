package generator

import (
	"slices"

	"github.com/divvyhq/divvy/generator/spec"
)

// cursor is how far a lot is cut: all inputs before position, and the first skip events of the one there. Of a lot without
// inputs the position is an event.
type cursor struct{ position, skip int64 }

// piece is a run of a lot that becomes one job.
type piece struct {
	inputs     []string
	firstEvent int64 // of the only input, or of a lot without inputs
	nEvents    int64 // 0: its inputs do not say
	weight     weight
	ended      weight // inputs and bytes that no later piece has a part of, and all of its events
	size       int    // index of the size that it was cut by
}

// cutter takes pieces off the front of a lot: inputs in their order, each event of each exactly once, whatever sizes it is asked
// for. It does not look further than the inputs that it was given.
type cutter struct {
	at     cursor
	n      int64 // of the lot
	shared bool  // an input that is too large is shared out among several pieces
	model  model
	rooms  []float64 // scratch of the queues, the least first: for inputs that leave no room in that of a size

	plain    bool       // a lot without inputs
	base     int64      // position of the first of loaded
	loaded   []inputRun // one behind the other
	nLoaded  int64
	run, off int // where at.position is in loaded
}

// load gives the cutter the next inputs.
func (c *cutter) load(runs []inputRun) {
	c.loaded, c.base = runs, c.at.position
	for _, r := range runs {
		c.nLoaded += int64(len(r.names))
	}
}

// over says whether all of the lot is cut.
func (c *cutter) over() bool { return c.at.position >= c.n }

// next cuts a piece of a size; false: all is cut, or it takes inputs that are not loaded.
func (c *cutter) next(s size) (piece, bool) {
	switch {
	case c.over():
		return piece{}, false
	case c.plain:
		k := min(s.events(c.model, 0, 0), c.n-c.at.position)
		p := piece{firstEvent: c.at.position, nEvents: k, weight: weight{events: k}}
		p.ended = p.weight
		c.at.position += k
		return p, true
	case c.at.position >= c.base+c.nLoaded:
		return piece{}, false
	}
	name, first := c.input()
	if c.shared && (c.at.skip > 0 || !s.fits(c.model, first)) {
		return c.share(s, name, first), true
	}
	return c.gather(s)
}

// input is the one at the cursor; one that does not say its events has one.
func (c *cutter) input() (name string, w weight) {
	r := c.loaded[c.run]
	w = weight{inputs: 1, events: 1}
	if r.events != nil {
		w.events = max(r.events[c.off], 1)
	}
	if r.sizes != nil {
		w.bytes = r.sizes[c.off]
	}
	return r.names[c.off], w
}

// share cuts some events of the input at the cursor. Where the input is too large for the scratch of the size it goes by the next
// larger one that there is.
func (c *cutter) share(s size, name string, in weight) piece {
	if least := c.model.scratch(weight{1, 1, in.bytes}); s.scratch > 0 && least > s.scratch {
		s.scratch = 0
		if i, _ := slices.BinarySearch(c.rooms, least); i < len(c.rooms) {
			s.scratch = c.rooms[i]
		}
	}
	k := min(s.events(c.model, in.bytes, 0), in.events-c.at.skip)
	p := piece{inputs: []string{name}, firstEvent: c.at.skip, nEvents: k, weight: weight{1, k, in.bytes}, ended: weight{events: k}}
	if c.at.skip += k; c.at.skip == in.events {
		c.at.skip = 0
		p.ended.inputs, p.ended.bytes = 1, in.bytes
		c.step()
	}
	return p
}

// gather takes whole inputs while they fit, one at least.
func (c *cutter) gather(s size) (p piece, ok bool) {
	before, run, off := c.at, c.run, c.off
	for !c.over() && p.weight.inputs < spec.MaxPerJob {
		if c.at.position >= c.base+c.nLoaded { // the piece may be larger than what is known
			c.at, c.run, c.off = before, run, off
			return piece{}, false
		}
		name, in := c.input()
		next := p.weight.add(in)
		if len(p.inputs) > 0 && !s.fits(c.model, next) {
			break
		}
		p.inputs, p.weight = append(p.inputs, name), next
		if c.loaded[c.run].events != nil && c.loaded[c.run].events[c.off] > 0 {
			p.nEvents += in.events
		}
		c.step()
	}
	p.ended = p.weight
	return p, true
}

func (c *cutter) step() {
	c.at.position++
	if c.off++; c.off == len(c.loaded[c.run].names) {
		c.run, c.off = c.run+1, 0
	}
}
