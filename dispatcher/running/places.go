package running

import "iter"

// places has the leases where they stay as long as they live, in pieces of one size.
type places struct {
	pieces [][]Run
	n      int     // places, the free ones among them
	free   []int32 // the next lease takes the last of them
}

// piece is how many leases are made room for at once.
const piece = 1024

func (p *places) of(at int32) *Run { return &p.pieces[at/piece][at%piece] }

// take is a place that nobody has.
func (p *places) take() (at int32, l *Run) {
	if last := len(p.free) - 1; last >= 0 {
		at, p.free = p.free[last], p.free[:last]
		return at, p.of(at)
	}
	if p.n == len(p.pieces)*piece {
		p.pieces = append(p.pieces, make([]Run, piece))
	}
	p.n++
	return int32(p.n - 1), p.of(int32(p.n - 1))
}

// give gives one back.
func (p *places) give(at int32, l *Run) {
	l.Job = 0
	p.free = append(p.free, at)
}

func (p *places) all() iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for at := range p.n {
			if l := p.of(int32(at)); l.Job != 0 && !yield(l) {
				return
			}
		}
	}
}

// names keeps each text once, as long as somebody has it.
type names struct {
	at   map[string]int32
	all  []name
	free []int32
}

type name struct {
	text string
	n    int
	jobs []int64 // of a node: that run there
}

func newNames() names { return names{at: map[string]int32{}} }

func (ns *names) keep(text string) int32 {
	at, ok := ns.at[text]
	if !ok {
		if last := len(ns.free) - 1; last >= 0 {
			at, ns.free = ns.free[last], ns.free[:last]
		} else {
			at, ns.all = int32(len(ns.all)), append(ns.all, name{})
		}
		ns.at[text], ns.all[at].text = at, text
	}
	ns.all[at].n++
	return at
}

func (ns *names) drop(at int32) {
	n := &ns.all[at]
	if n.n--; n.n == 0 {
		delete(ns.at, n.text)
		*n = name{}
		ns.free = append(ns.free, at)
	}
}
