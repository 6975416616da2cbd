package generator

import (
	"cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// lotShift: inputs of lot n are stored from position n << lotShift on, so that they stay without gaps within their lot, and a
// task that turns out to have lots need not store those of the first anew.
const lotShift = 32

// lot is what of a task is cut into pieces alike; see the table.
type lot struct {
	TaskID     int64
	Number     int32 `db:"lot"`
	Locations  []string
	N          int64
	Bytes      int64
	Events     int64
	Cut        int64
	CutBytes   int64
	CutEvents  int64
	Skip       int64
	PiecesLeft int64
	ShapeIDs   []int32
}

// rest is what is not cut yet. A lot without inputs has events only.
func (l *lot) rest(plain bool) weight {
	w := weight{inputs: l.N - l.Cut, events: l.Events - l.CutEvents, bytes: l.Bytes - l.CutBytes}
	if plain {
		w = weight{events: l.N - l.Cut}
	}
	return w
}

func (l *lot) over() bool { return l.Cut >= l.N }

// estimate says how many pieces are left. With several sizes it is as if all had the largest.
func (l *lot) estimate(s *spec.Spec, p *plan) {
	l.PiecesLeft = 0
	if !l.over() {
		l.PiecesLeft = p.sizes[0].pieces(p.model, l.rest(s.Events != nil), p.shared)
	}
}

// lotShape is what the pieces of a lot need, but for what follows from their size.
func lotShape(s *spec.Spec, l *lot) job.Requirements {
	r := s.Shape()
	if len(l.Locations) > 0 {
		r.Locations, r.Locality = l.Locations, cmp.Or(s.Locality, job.LocalityPreferred)
	}
	return r
}

// runInputs is how many inputs a row of inputs holds at most; its CHECK says the same.
const runInputs = 1000

// inputRun is a row of inputs; sizes and events are nil where nothing is known.
type inputRun struct {
	task, position int64
	names          []string
	sizes, events  []int64
}
