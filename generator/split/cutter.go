package split

import (
	"slices"

	"github.com/divvyhq/divvy/generator/spec"
)

// Cursor is how far a lot is cut: all inputs before position, and the first skip events of the one there. Of a lot without
// inputs the position is an event.
type Cursor struct{ Position, Skip int64 }

// Piece is a run of a lot that becomes one job.
type Piece struct {
	Inputs     []string
	FirstEvent int64 // of the only input, or of a lot without inputs
	NEvents    int64 // 0: its inputs do not say
	Weight     Weight
	Ended      Weight // inputs and bytes that no later piece has a part of, and all of its events
	Size       int    // index of the size that it was cut by
}

// Cutter takes pieces off the front of a lot: inputs in their order, each event of each exactly once, whatever sizes it is asked
// for. It does not look further than the inputs that it was given.
type Cutter struct {
	At     Cursor
	N      int64 // of the lot
	Shared bool  // an input that is too large is shared out among several pieces
	Model  Model
	Rooms  []float64 // scratch of the queues, the least first: for inputs that leave no room in that of a size

	Plain    bool  // a lot without inputs
	base     int64 // position of the first of loaded
	loaded   []Run // one behind the other
	nLoaded  int64
	run, off int // where at.position is in loaded
}

// Load gives the cutter the next inputs.
func (c *Cutter) Load(runs []Run) {
	c.loaded, c.base = runs, c.At.Position
	for _, r := range runs {
		c.nLoaded += int64(len(r.Names))
	}
}

// over says whether all of the lot is cut.
func (c *Cutter) over() bool { return c.At.Position >= c.N }

// Next cuts a piece of a size; false: all is cut, or it takes inputs that are not loaded.
func (c *Cutter) Next(s size) (Piece, bool) {
	switch {
	case c.over():
		return Piece{}, false
	case c.Plain:
		k := min(s.events(c.Model, 0, 0), c.N-c.At.Position)
		p := Piece{FirstEvent: c.At.Position, NEvents: k, Weight: Weight{Events: k}}
		p.Ended = p.Weight
		c.At.Position += k
		return p, true
	case c.At.Position >= c.base+c.nLoaded:
		return Piece{}, false
	}
	name, first := c.input()
	if c.Shared && (c.At.Skip > 0 || !s.Fits(c.Model, first)) {
		return c.share(s, name, first), true
	}
	return c.gather(s)
}

// input is the one at the cursor; one that does not say its events has one.
func (c *Cutter) input() (name string, w Weight) {
	r := c.loaded[c.run]
	w = Weight{Inputs: 1, Events: 1}
	if r.Events != nil {
		w.Events = max(r.Events[c.off], 1)
	}
	if r.Sizes != nil {
		w.Bytes = r.Sizes[c.off]
	}
	return r.Names[c.off], w
}

// share cuts some events of the input at the cursor. Where the input is too large for the scratch of the size it goes by the next
// larger one that there is.
func (c *Cutter) share(s size, name string, in Weight) Piece {
	if least := c.Model.scratch(Weight{1, 1, in.Bytes}); s.Scratch > 0 && least > s.Scratch {
		s.Scratch = 0
		if i, _ := slices.BinarySearch(c.Rooms, least); i < len(c.Rooms) {
			s.Scratch = c.Rooms[i]
		}
	}
	k := min(s.events(c.Model, in.Bytes, 0), in.Events-c.At.Skip)
	p := Piece{Inputs: []string{name}, FirstEvent: c.At.Skip, NEvents: k, Weight: Weight{1, k, in.Bytes}, Ended: Weight{Events: k}}
	if c.At.Skip += k; c.At.Skip == in.Events {
		c.At.Skip = 0
		p.Ended.Inputs, p.Ended.Bytes = 1, in.Bytes
		c.step()
	}
	return p
}

// gather takes whole inputs while they fit, one at least.
func (c *Cutter) gather(s size) (p Piece, ok bool) {
	before, run, off := c.At, c.run, c.off
	for !c.over() && p.Weight.Inputs < spec.MaxPerJob {
		if c.At.Position >= c.base+c.nLoaded { // the piece may be larger than what is known
			c.At, c.run, c.off = before, run, off
			return Piece{}, false
		}
		name, in := c.input()
		next := p.Weight.add(in)
		if len(p.Inputs) > 0 && !s.Fits(c.Model, next) {
			break
		}
		p.Inputs, p.Weight = append(p.Inputs, name), next
		if c.loaded[c.run].Events != nil && c.loaded[c.run].Events[c.off] > 0 {
			p.NEvents += in.Events
		}
		c.step()
	}
	p.Ended = p.Weight
	return p, true
}

func (c *Cutter) step() {
	c.At.Position++
	if c.off++; c.off == len(c.loaded[c.run].Names) {
		c.run, c.off = c.run+1, 0
	}
}
