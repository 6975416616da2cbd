package resource

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Need is what one job of a gang needs of a slot. 0 and nil: nothing.
type Need struct {
	Name      string // for people: the job's name
	Cores     int64
	MemoryMB  int64
	DiskMB    int64
	WalltimeS int64
	Labels    map[string]string
}

// Room is the slot that a pilot of a node offers. 0: as much as one may want; a label that is not there is not met.
type Room struct {
	Cores     int64
	MemoryMB  int64
	DiskMB    int64
	WalltimeS int64
	Jobs      int64 // that it takes at once
	Labels    map[string]string
}

// Fitting is the answer of Fit.
type Fitting struct {
	At      []int // which room each need goes into; nil unless all fit
	Misfit  int   // a need that does not fit: on its own if Never, else beside the others; −1 when all fit
	Never   bool  // no room is large enough for the misfit, even if it were empty
	Given   bool  // the search was given up: they may fit, but nobody knows how. Counts as not fitting
	nLooked int
}

// OK says whether all fit.
func (f Fitting) OK() bool { return f.At != nil }

// maxLooks bounds the search of Fit: placements that are tried. Packing is hard in theory; gangs of the size of a node are
// found by the first descent, which is best fit decreasing, or within some hundred looks.
const maxLooks = 20_000

// Fit says whether all needs can be met at once by the rooms of one node, several in a room if it is large enough.
// It is exact unless Given: it tries the largest need first, the tightest room first, and goes back where that leads
// nowhere, leaving out what is the same as before: equal needs go into rooms in ascending order, of equal rooms only one is
// tried. The result depends on nothing but the arguments.
func Fit(needs []Need, rooms []Room) Fitting {
	p := packing{needs: needs, at: make([]int, len(needs))}
	for i, r := range rooms {
		p.rooms = append(p.rooms, r.stated())
		p.kind = append(p.kind, slices.IndexFunc(p.rooms, p.rooms[i].alike))
	}
	for i, n := range needs {
		if !slices.ContainsFunc(p.rooms, func(r Room) bool { return r.takes(n) }) {
			return Fitting{Misfit: i, Never: true}
		}
	}
	p.order = largest(needs, p.rooms)
	if p.place(0) {
		return Fitting{At: p.at, Misfit: -1, nLooked: p.looks}
	}
	return Fitting{Misfit: p.order[p.deepest], Given: p.given, nLooked: p.looks}
}

// largest are the needs in the order in which rooms are looked for: by the part of all there is that they take.
func largest(needs []Need, rooms []Room) []int {
	order, all := make([]int, len(needs)), total(rooms)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(needs[b].size(all), needs[a].size(all)), cmp.Compare(needs[a].Name, needs[b].Name))
	})
	return order
}

// packing is a search on its way.
type packing struct {
	needs   []Need
	rooms   []Room // what is left of each
	kind    []int  // of each: the first that is alike in all that does not get less
	order   []int  // needs, the largest first
	at      []int
	looks   int
	given   bool // up
	deepest int  // the furthest place in order that nothing was found for
}

// place finds rooms for the needs from order[k] on.
func (p *packing) place(k int) bool {
	if k == len(p.order) {
		return true
	}
	short := p.short(k)
	p.deepest = max(p.deepest, k, short)
	if short >= 0 {
		return false
	}
	need := p.needs[p.order[k]]
	for _, r := range p.candidates(k) {
		if p.given = p.looks == maxLooks; p.given {
			return false
		}
		p.looks++
		before := p.rooms[r]
		p.rooms[r] = before.without(need)
		p.at[p.order[k]] = r
		if p.place(k + 1) {
			return true
		}
		p.rooms[r] = before
	}
	return false
}

// short is the first of the needs from order[k] on that would not fit if what is left were one room: then there is no
// need to look. −1 when all would.
func (p *packing) short(k int) int {
	left := total(p.rooms)
	for i := k; i < len(p.order); i++ {
		left = left.without(p.needs[p.order[i]])
		if left.Cores < 0 || left.MemoryMB < 0 || left.DiskMB < 0 || left.Jobs < 0 {
			return i
		}
	}
	return -1
}

// candidates are the rooms for order[k], the tightest first, one of each that are equal now.
func (p *packing) candidates(k int) (rooms []int) {
	need := p.needs[p.order[k]]
	from := 0
	if k > 0 && need.same(p.needs[p.order[k-1]]) {
		from = p.at[p.order[k-1]] // the same in another order is no other packing
	}
	for r := from; r < len(p.rooms); r++ {
		if p.rooms[r].takes(need) {
			rooms = append(rooms, r)
		}
	}
	compare := func(a, b int) int {
		x, y := p.rooms[a], p.rooms[b]
		return cmp.Or(cmp.Compare(x.Cores, y.Cores), cmp.Compare(x.MemoryMB, y.MemoryMB), cmp.Compare(x.DiskMB, y.DiskMB),
			cmp.Compare(x.Jobs, y.Jobs), cmp.Compare(p.kind[a], p.kind[b]))
	}
	slices.SortStableFunc(rooms, compare)
	return slices.CompactFunc(rooms, func(a, b int) bool { return compare(a, b) == 0 })
}

// total is all rooms as one.
func total(rooms []Room) (sum Room) {
	for _, r := range rooms {
		sum.Cores = plus(sum.Cores, r.Cores)
		sum.MemoryMB = plus(sum.MemoryMB, r.MemoryMB)
		sum.DiskMB = plus(sum.DiskMB, r.DiskMB)
		sum.Jobs = plus(sum.Jobs, r.Jobs)
	}
	return sum
}

// size is the largest part of all there is that the need takes.
func (n Need) size(of Room) float64 {
	part := func(n, of int64) float64 { return float64(n) / max(1, float64(of)) }
	return max(part(n.Cores, of.Cores), part(n.MemoryMB, of.MemoryMB), part(n.DiskMB, of.DiskMB))
}

func (n Need) same(m Need) bool {
	return n.Cores == m.Cores && n.MemoryMB == m.MemoryMB && n.DiskMB == m.DiskMB && n.WalltimeS == m.WalltimeS &&
		maps.Equal(n.Labels, m.Labels)
}

// unbounded stands for a figure that nobody stated; sums of some stay a number.
const unbounded = math.MaxInt64 / 4

// stated is the room with a figure for everything.
func (r Room) stated() Room {
	figure := func(n int64) int64 {
		if n <= 0 {
			return unbounded
		}
		return n
	}
	r.Cores, r.MemoryMB, r.DiskMB = figure(r.Cores), figure(r.MemoryMB), figure(r.DiskMB)
	r.WalltimeS, r.Jobs = figure(r.WalltimeS), figure(r.Jobs)
	return r
}

func (r Room) takes(n Need) bool {
	if r.Jobs < 1 || n.Cores > r.Cores || n.MemoryMB > r.MemoryMB || n.DiskMB > r.DiskMB || n.WalltimeS > r.WalltimeS {
		return false
	}
	for name, want := range n.Labels {
		if got, there := r.Labels[name]; !there || got != want {
			return false
		}
	}
	return true
}

func (r Room) without(n Need) Room {
	r.Cores -= n.Cores
	r.MemoryMB -= n.MemoryMB
	r.DiskMB -= n.DiskMB
	r.Jobs--
	return r
}

// alike says whether two rooms differ at most in what jobs take away from them.
func (r Room) alike(o Room) bool { return r.WalltimeS == o.WalltimeS && maps.Equal(r.Labels, o.Labels) }
