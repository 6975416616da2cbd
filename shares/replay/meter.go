package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Meter adds up what shares held. Two standings are measured side by side: the recorded one, and what it would be now.
type Meter struct {
	covered time.Time // up to where some daemon's records were measured
	at      time.Time // up to where this one's are
	hours   float64
	of      map[key]*Delivered
}

type key struct {
	pool string
	id   shares.ShareID
}

// Begin starts, or starts again after a gap, at a moment.
func (m *Meter) Begin(at time.Time) {
	m.covered = later(m.covered, m.at)
	m.at = at
}

// Due says whether a moment is at least so long after the last one that was counted.
func (m *Meter) Due(at time.Time, every time.Duration) bool { return at.Sub(m.at) >= every }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Holding is what the nodes of a tree hold in a pool.
type Holding struct {
	Pool string
	Tree *shares.Tree
	Held []shares.Units // by node
}

// Until counts what was held up to a moment: was is the recorded standing, now the one beside it.
func (m *Meter) Until(at time.Time, was, now []Holding) {
	from := later(m.at, m.covered)
	if !at.After(m.at) {
		return
	}
	m.at = at
	hours := at.Sub(from).Hours()
	if hours <= 0 {
		return
	}
	m.hours += hours
	for _, h := range was {
		m.add(h, func(d *Delivered, held float64) { d.Recorded += held * hours })
	}
	for _, h := range now {
		m.add(h, func(d *Delivered, held float64) { d.Now += held * hours })
	}
}

func (m *Meter) add(h Holding, to func(d *Delivered, held float64)) {
	for i, n := range h.Tree.Nodes {
		if held := h.Held[i].Float(); i > 0 && held != 0 {
			to(m.share(h.Pool, n), held)
		}
	}
}

// share is the line of a share. Its path is that of the tree that it was last seen in.
func (m *Meter) share(pool string, n shares.Node) *Delivered {
	if m.of == nil {
		m.of = map[key]*Delivered{}
	}
	k := key{pool, n.ID}
	d := m.of[k]
	if d == nil {
		d = &Delivered{Pool: pool, ID: n.ID}
		m.of[k] = d
	}
	d.Path, d.Leaf = n.Path, len(n.Children) == 0
	return d
}

// Start counts a decision for a leaf and all above it: recorded, or now.
func (m *Meter) Start(pool string, tree *shares.Tree, leaf int, now bool) {
	tree.Up(leaf, func(i int) {
		if i == 0 {
			return
		}
		d := m.share(pool, tree.Nodes[i])
		if now {
			d.Starts++
		} else {
			d.Started++
		}
	})
}

// Report fills in the shares of a score, by pool and path.
func (m *Meter) Report(s *Score) {
	s.Hours, s.Shares = m.hours, []Delivered{}
	for _, d := range m.of {
		s.Shares = append(s.Shares, *d)
	}
	slices.SortFunc(s.Shares, func(a, b Delivered) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Path, b.Path)) })
}
