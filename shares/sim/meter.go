package sim

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// gauge is what is measured of one node. Integrals are in slot-seconds.
type gauge struct {
	held, target  float64 // ∫ held, ∫ target
	short, excess float64 // ∫ of target − held where it is positive, and where negative
	worstLag      float64 // most that ∫ target was ahead of ∫ held
	starving      float64 // seconds: below target, a job ready, no start so far
	starved       float64 // the longest of these
	overSlots     float64 // most that a choice took it over its target
	overJobs      float64 // the same in job sizes
	waits         []time.Duration
}

// jain is Jain's index of one level, (Σx)² / (n Σx²) with x = held ÷ target, added up over time.
type jain struct{ sum, seconds float64 }

type meter struct {
	tree    *shares.Tree
	gauges  []gauge // by node
	levels  []jain  // by depth
	sums    []sums  // by depth, scratch
	series  series
	idle    float64 // slot-seconds that were free while a job was ready
	waiting float64 // seconds in which a job was ready
	refused int64   // the rule named no leaf although one contended
}

type sums struct {
	n          int
	x, squares float64
}

func newMeter(t *shares.Tree, every time.Duration) meter {
	deepest := 0
	for i := range t.Nodes {
		deepest = max(deepest, t.Nodes[i].Depth)
	}
	return meter{tree: t, gauges: make([]gauge, len(t.Nodes)), levels: make([]jain, deepest+1), sums: make([]sums, deepest+1),
		series: newSeries(len(t.Nodes), every)}
}

// started counts a start in or below a node.
func (m *meter) started(node int, wait time.Duration) {
	g := &m.gauges[node]
	g.waits = append(g.waits, wait)
	g.starving = 0
}

// over notes how far over its target a choice takes the node, in slots, and what the size of the job is.
func (g *gauge) over(slots, size float64) {
	g.overSlots = max(g.overSlots, slots)
	g.overJobs = max(g.overJobs, slots/size)
}

// pass counts the time from now to then, in which nothing changes.
func (m *meter) pass(e *Engine, to time.Duration) {
	targets := e.Targets()
	dt := (to - e.now).Seconds()
	for i := range m.gauges {
		m.gauges[i].pass(e.held[i], targets[i]/1000, dt, e.heads[i].Units > 0)
	}
	m.series.pass(e.now, to, e.held, targets)
	if e.nHead == 0 {
		return
	}
	m.waiting += dt
	if e.line.Len() > 0 {
		m.idle += dt * e.Free().Float()
	}
	m.judge(e.held, targets, dt)
}

func (g *gauge) pass(held, target, dt float64, ready bool) {
	g.held += held * dt
	g.target += target * dt
	if d := target - held; d > 0 {
		g.short += d * dt
	} else {
		g.excess -= d * dt
	}
	g.worstLag = max(g.worstLag, g.target-g.held)
	if ready && target-held > shares.Tolerance {
		g.starving += dt
		g.starved = max(g.starved, g.starving)
	} else {
		g.starving = 0
	}
}

// judge adds Jain's index of every level with at least two nodes that have a target.
func (m *meter) judge(held, targets []float64, dt float64) {
	clear(m.sums)
	for i := range m.tree.Nodes {
		if targets[i] > shares.Tolerance {
			m.sums[m.tree.Nodes[i].Depth].add(held[i] * 1000 / targets[i])
		}
	}
	for depth := range m.levels {
		if index, ok := m.sums[depth].index(); ok {
			m.levels[depth].sum += index * dt
			m.levels[depth].seconds += dt
		}
	}
}

func (s *sums) add(x float64) {
	s.n++
	s.x += x
	s.squares += x * x
}

// index is 1 when all have the same part of their target, 1/n when one has everything.
func (s *sums) index() (float64, bool) {
	if s.n < 2 || s.squares == 0 {
		return 0, false
	}
	return s.x * s.x / (float64(s.n) * s.squares), true
}
