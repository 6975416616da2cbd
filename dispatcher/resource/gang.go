package resource

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
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
	Given   bool  // the search was given up: they may fit, but no way was found. Counts as not fitting
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

// unbounded stands for a figure that was not stated; sums of such figures stay numbers.
const unbounded = math.MaxInt64 / 4

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

// DefaultGangHold is how long pilots of a node are held for a gang that nothing else is said of.
const DefaultGangHold = time.Minute

// Hold is the time for which the slots of one node are held for a gang, until all of it fits. The zero Hold is none yet.
type Hold struct {
	Since time.Time
	Most  time.Duration // DefaultGangHold unless the site says otherwise
}

// For is the hold with another bound.
func (h Hold) For(most time.Duration) Hold {
	h.Most = most
	return h
}

// Until is when it ends at the latest: from then on anybody may have the slots.
func (h Hold) Until() time.Time { return h.Since.Add(h.Most) }

// Again is when the same gang may hold slots again: as long after the end as it held them, so that others get them for
// half of the time at least.
func (h Hold) Again() time.Time { return h.Since.Add(2 * h.Most) }

// May says whether slots may be held at this time: the hold is on, or a new one may begin.
func (h Hold) May(now time.Time) bool {
	return h.Since.IsZero() || now.Before(h.Until()) || !now.Before(h.Again())
}

// At is the hold once slots are held at this time: the one that is on, or a new one. Ask May before.
func (h Hold) At(now time.Time) Hold {
	if h.Since.IsZero() || !now.Before(h.Until()) {
		h.Since = now
	}
	return h
}

// GangVerdict says what a gang does with the slots of a node.
type GangVerdict string

// Verdicts.
const (
	GangStarts GangVerdict = "start" // all fit now: all get leases, in one transaction
	GangHolds  GangVerdict = "hold"  // all would fit if the busy slots of the node were free: those that offer wait, up to a bound
	GangWaits  GangVerdict = "wait"  // not here, or not now: the slots are for others. gang_waiting
)

// Gathering is what a gang does at a node, and why.
type Gathering struct {
	Verdict GangVerdict
	At      []int  // with GangStarts: the room of offered for each need
	Hold    Hold   // the hold from now on
	Why     string // for people; "" with GangStarts
}

// Gather decides for a gang at one node, where offered are the slots that ask for jobs now, and whole are all slots of the
// node as they were if nothing ran in them, offered ones too. Whether the claim admits the gang there is for package gate to say.
func Gather(needs []Need, offered, whole []Room, hold Hold, now time.Time) Gathering {
	if len(needs) == 0 {
		return Gathering{Verdict: GangWaits, Hold: hold, Why: "the group has no job left"}
	}
	fit := Fit(needs, offered)
	if fit.OK() {
		return Gathering{Verdict: GangStarts, At: fit.At, Hold: hold}
	}
	g := Gathering{Verdict: GangWaits, Hold: hold}
	switch ever := Fit(needs, whole); {
	case !ever.OK():
		g.Why = ever.why(needs, "the slots of the node")
	case !hold.May(now):
		g.Why = fmt.Sprintf("the node was held for %v in vain, others have it until %s; %s", hold.Most, hold.Again().Format(time.TimeOnly), fit.why(needs, "its free slots"))
	default:
		g.Verdict, g.Hold = GangHolds, hold.At(now)
		g.Why = fmt.Sprintf("slots of the node are held until %s: %s", g.Hold.Until().Format(time.TimeOnly), fit.why(needs, "those that are free"))
	}
	return g
}

// why says in words which need does not fit into which slots.
func (f Fitting) why(needs []Need, where string) string {
	if f.Misfit < 0 {
		return ""
	}
	name := needs[f.Misfit].Name
	switch {
	case f.Never:
		return fmt.Sprintf("%s fits none of %s", name, where)
	case f.Given:
		return fmt.Sprintf("no way was found to fit %d jobs into %s, the search ended at %s", len(needs), where, name)
	}
	return fmt.Sprintf("%s does not fit into %s beside the others", name, where)
}

// Useful says which of the slots that ask for jobs a gang can use while it waits for more: those that some of its jobs go
// into, the largest job first, the tightest slot first, and of equal ones those that come first. The others need not be held.
func Useful(needs []Need, offered []Room) (use []bool) {
	rooms := make([]Room, len(offered))
	for i, r := range offered {
		rooms[i] = r.stated()
	}
	use = make([]bool, len(offered))
	for _, i := range largest(needs, rooms) {
		best := -1
		for r := range rooms {
			if rooms[r].takes(needs[i]) && (best < 0 || rooms[r].Cores < rooms[best].Cores) {
				best = r
			}
		}
		if best >= 0 {
			rooms[best], use[best] = rooms[best].without(needs[i]), true
		}
	}
	return use
}
