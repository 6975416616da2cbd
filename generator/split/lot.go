package split

import (
	"cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// LotShift makes room for the inputs of lots: those of lot n are stored from position n << LotShift on, so that they stay without gaps within their lot, and a
// task that turns out to have lots need not store those of the first anew.
const LotShift = 32

// Lot is what of a task is cut into pieces alike; see the table.
type Lot struct {
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

// Rest is what is not cut yet. A lot without inputs has events only.
func (l *Lot) Rest(plain bool) Weight {
	w := Weight{Inputs: l.N - l.Cut, Events: l.Events - l.CutEvents, Bytes: l.Bytes - l.CutBytes}
	if plain {
		w = Weight{Events: l.N - l.Cut}
	}
	return w
}

// Over says whether all of the lot is cut.
func (l *Lot) Over() bool { return l.Cut >= l.N }

// Estimate says how many pieces are left. With several sizes it is as if all had the largest.
func (l *Lot) Estimate(s *spec.Spec, p *Plan) {
	l.PiecesLeft = 0
	if !l.Over() {
		l.PiecesLeft = p.Sizes[0].pieces(p.Model, l.Rest(s.Events != nil), p.Shared)
	}
}

// lotShape is what the pieces of a lot need, but for what follows from their size.
func lotShape(s *spec.Spec, l *Lot) job.Requirements {
	r := s.Shape()
	if len(l.Locations) > 0 {
		r.Locations, r.Locality = l.Locations, cmp.Or(s.Locality, job.LocalityPreferred)
	}
	return r
}

// RunInputs is how many inputs a row of inputs holds at most; its CHECK says the same.
const RunInputs = 1000

// Run is a row of inputs; sizes and events are nil where nothing is known.
type Run struct {
	Task, Position int64
	Names          []string
	Sizes, Events  []int64
}

// FirstHalf is the first index of second halves; the table has its CHECK. Pieces as they are cut have smaller ones, so that
// neither moves when the other grows.
const FirstHalf = 1_000_000_000_000
