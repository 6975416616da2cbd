package sim

import (
	"math"

	"github.com/divvyhq/divvy/shares"
)

// Rule says whose turn it is. It is asked when units are free, and changes nothing.
type Rule interface {
	// Name is the rule's name on the command line.
	Name() string
	// Next is the leaf whose next job is in turn, whether or not that job fits the free units; false if no leaf
	// contends. It is one of e.Contenders.
	Next(e *Engine) (leaf int, ok bool)
	// Backfills says that all jobs stand in one line, and that Run lets those overtake, of any leaf, that do not delay its head.
	Backfills() bool
}

// Rules are all of them, divvy's own first.
var Rules = []Rule{Divvy{}, Ratio{}, FIFO{}, EASY{}}

// Divvy is the rule of the dispatcher: the largest target − held at each level (sharing.md §2).
type Divvy struct{}

// Name is divvy.
func (Divvy) Name() string { return "divvy" }

// Backfills is false.
func (Divvy) Backfills() bool { return false }

// Next is shares.Pool.Choose.
func (Divvy) Next(e *Engine) (leaf int, ok bool) {
	return e.line.Choose(e.pool, e.round())
}

// Ratio is how PanDA, HTCondor and Armada sort: the smallest held ÷ target at each level. The targets are those of
// the same solver, demand included, so that a comparison is about the pick alone. Ties go to whoever waited longest
// since the last start, then by the order of the file; a target of 0 comes last.
type Ratio struct{}

// Name is ratio.
func (Ratio) Name() string { return "ratio" }

// Backfills is false.
func (Ratio) Backfills() bool { return false }

// Next walks down by ratios.
func (Ratio) Next(e *Engine) (leaf int, ok bool) {
	if e.line.Len() == 0 {
		return 0, false
	}
	targets := e.Targets()
	below := e.contending()
	node := 0
	for !e.tree.Leaf(node) {
		best, least := -1, 0.0
		for _, c := range e.tree.Nodes[node].Children {
			if !below[c] {
				continue
			}
			r := math.Inf(1)
			if targets[c] > shares.Tolerance {
				r = e.held[c] * 1000 / targets[c]
			}
			if best < 0 || r < least || r == least && e.last[c] < e.last[best] {
				best, least = c, r
			}
		}
		node = best
	}
	return node, true
}

// FIFO knows no shares: one line for all, the higher priority first, then the earlier job.
type FIFO struct{}

// Name is fifo.
func (FIFO) Name() string { return "fifo" }

// Backfills is false.
func (FIFO) Backfills() bool { return false }

// Next is the leaf of the job at the head of the line.
func (FIFO) Next(e *Engine) (leaf int, ok bool) {
	best := -1
	for _, l := range e.leaves {
		if e.line.Has(e.pool, l) && (best < 0 || e.heads[l].goesBefore(&e.heads[best])) {
			best = l
		}
	}
	return best, best >= 0
}

// EASY is FIFO with the backfill of the scheduler of that name (Lifka, The ANL/IBM SP Scheduling System, 1995): the job at the head of
// the line has a reservation for the moment at which it will fit, and of those behind it, of any share, all start in
// their order that fit now and either end before that moment or leave the head its units. Reservations are made anew
// at each event. Run times are known, as they are to the other rules; EASY proper goes by what users ask for.
type EASY struct{ FIFO }

// Name is easy.
func (EASY) Name() string { return "easy" }

// Backfills is true.
func (EASY) Backfills() bool { return true }
