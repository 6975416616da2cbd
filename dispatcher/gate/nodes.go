package gate

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// Nodes is what is known of nodes for gangs: their slots, and for whom they are held. Nothing of it follows from the log, and all
// of it ends in time.
type Nodes struct {
	by    map[resource.Place]*node
	holds map[int64]*node // by claim of the gang
	most  time.Duration   // a hold
}

// node is one at which gangs were tried.
type node struct {
	place resource.Place
	hold  resource.Hold // of by; after its end, of vain
	by    int64         // claim of the gang that slots are held for; 0: none are
	vain  int64         // claim for which they were held last, to no end
	slots map[string]seen
	whys  map[int64]string // why gangs did not start here when they were tried last, by claim; for people
	tried time.Time
}

// seen is the largest that a pilot's slot was seen to be.
type seen struct {
	room resource.Room
	at   time.Time
}

const (
	nodesKept    = 4096            // where nothing is held
	slotsKept    = 4096            // of a node
	slotsKeptFor = 5 * time.Minute // since a pilot was last seen
	whysKept     = 64              // of a node
)

// NewNodes knows no node. Slots are held for at most so long; 0: resource.DefaultGangHold.
func NewNodes(most time.Duration) *Nodes {
	if most <= 0 {
		most = resource.DefaultGangHold
	}
	return &Nodes{by: map[resource.Place]*node{}, holds: map[int64]*node{}, most: most}
}

// Slot is what is left of a slot that asks for jobs.
type Slot struct {
	Pilot string
	Room  resource.Room
}

// Try is a gang at a node. The claims of its jobs, limits and shares admit all of it there.
type Try struct {
	Place   resource.Place
	Claim   int64
	Needs   []resource.Need
	Offers  []Slot                   // that may be used for it
	Busy    map[string]resource.Room // what jobs at the node take, by pilot
	Now     time.Time
	Another func() bool // says whether slots could be held for another gang
}

// Answer is what a gang does with the slots of a node. Where it holds some, that is until the end of Hold at the most.
type Answer struct {
	resource.Gathering
	Use []bool // with GangHolds: the offers that wait
}

// HeldFor is the claim of the gang for which slots of a node are held; 0: none are.
func (ns *Nodes) HeldFor(at resource.Place, now time.Time) int64 {
	n := ns.by[at]
	if n == nil || n.by == 0 {
		return 0
	}
	if !now.Before(n.hold.Until()) {
		n.vain = n.by
		ns.LetGo(n.by)
		return 0
	}
	return n.by
}

// LetGo ends the hold for a gang, if there is one.
func (ns *Nodes) LetGo(claim int64) {
	if n := ns.holds[claim]; n != nil {
		n.by = 0
		delete(ns.holds, claim)
	}
}

// Holds says whether slots of some node are held for a gang.
func (ns *Nodes) Holds(claim int64) bool { return ns.holds[claim] != nil }

// LetGoAt ends the hold for a gang at one node, if there is one.
func (ns *Nodes) LetGoAt(at resource.Place, claim int64) {
	if n := ns.holds[claim]; n != nil && n.place == at {
		ns.LetGo(claim)
	}
}

// Started ends what was held for a gang at a node, where it has started.
func (ns *Nodes) Started(at resource.Place, claim int64) {
	ns.LetGo(claim)
	if n := ns.by[at]; n != nil {
		n.vain, n.hold = 0, resource.Hold{}
		delete(n.whys, claim)
	}
}

// Note says why a gang that was tried at a node did not start there.
func (ns *Nodes) Note(at resource.Place, claim int64, why string, now time.Time) {
	n := ns.node(at, now)
	if n.whys == nil || len(n.whys) >= whysKept {
		n.whys = map[int64]string{}
	}
	n.whys[claim] = why
}

// Whys are why a gang did not start, by the nodes where it was tried.
func (ns *Nodes) Whys(claim int64) map[resource.Place]string {
	whys := map[resource.Place]string{}
	for at, n := range ns.by {
		if why, tried := n.whys[claim]; tried {
			whys[at] = why
		}
	}
	return whys
}

// Try says what a gang does with the slots of a node that ask for jobs.
func (ns *Nodes) Try(t Try) Answer {
	n := ns.node(t.Place, t.Now)
	ns.HeldFor(t.Place, t.Now)
	rooms := make([]resource.Room, len(t.Offers))
	for i, o := range t.Offers {
		rooms[i] = o.Room
	}
	if elsewhere := ns.holds[t.Claim]; elsewhere != nil && !t.Now.Before(elsewhere.hold.Until()) {
		ns.HeldFor(elsewhere.place, t.Now)
	}
	got := resource.Gather(t.Needs, rooms, n.whole(t), n.hold.For(ns.most), t.Now)
	waits := func(why string) Answer {
		return Answer{Gathering: resource.Gathering{Verdict: resource.GangWaits, Why: why}}
	}
	switch elsewhere := ns.holds[t.Claim]; {
	case got.Verdict != resource.GangHolds:
		return Answer{Gathering: got}
	case elsewhere != nil && elsewhere != n:
		return waits("slots of node " + elsewhere.place.Node + " of queue " + elsewhere.place.Queue + " are held for it")
	case n.by != 0 && n.by != t.Claim:
		return waits("slots of the node are held for another gang")
	case n.by == 0 && n.vain == t.Claim && t.Another():
		return waits("the node was held for it in vain, another gang comes first now")
	}
	use := resource.Useful(t.Needs, rooms)
	if n.by == 0 && !slices.Contains(use, true) {
		return waits("nothing that is offered is of use")
	}
	if n.hold, n.by = got.Hold, t.Claim; n.vain != t.Claim {
		n.vain = 0
	}
	ns.holds[t.Claim] = n
	return Answer{got, use}
}

// node finds or makes one. Where there are too many those go first that were tried longest ago.
func (ns *Nodes) node(at resource.Place, now time.Time) *node {
	n := ns.by[at]
	if n == nil {
		if len(ns.by) >= 2*nodesKept {
			all := slices.SortedFunc(maps.Values(ns.by), func(a, b *node) int { return a.tried.Compare(b.tried) })
			for _, old := range all[:nodesKept] {
				if old.by == 0 {
					delete(ns.by, old.place)
				}
			}
		}
		n = &node{place: at, slots: map[string]seen{}}
		ns.by[at] = n
	}
	n.tried = now
	return n
}

// whole are all slots of a node as they would be if nothing ran there: those that are offered with what the pilot's jobs take, and
// those of pilots that do not ask now. A pilot is taken for one slot, unless it offers several at once.
func (n *node) whole(t Try) (rooms []resource.Room) {
	of := map[string][]resource.Room{}
	for _, o := range t.Offers {
		of[o.Pilot] = append(of[o.Pilot], o.Room)
	}
	for _, pilot := range slices.Sorted(maps.Keys(of)) {
		offered := of[pilot]
		busy, has := t.Busy[pilot]
		switch {
		case has && len(offered) == 1:
			offered[0] = together(offered[0], busy)
		case has:
			busy.WalltimeS, busy.Labels = offered[0].WalltimeS, offered[0].Labels
			offered = append(offered, busy)
		}
		if len(offered) == 1 {
			before, known := n.slots[pilot]
			offered[0] = larger(offered[0], before.room)
			if known || len(n.slots) < slotsKept {
				n.slots[pilot] = seen{offered[0], t.Now}
			}
		}
		rooms = append(rooms, offered...)
	}
	for _, pilot := range slices.Sorted(maps.Keys(t.Busy)) {
		if of[pilot] == nil {
			rooms = append(rooms, larger(t.Busy[pilot], n.slots[pilot].room))
		}
	}
	for _, pilot := range slices.Sorted(maps.Keys(n.slots)) {
		_, is := t.Busy[pilot]
		switch slot := n.slots[pilot]; {
		case of[pilot] != nil || is:
		case t.Now.Sub(slot.at) > slotsKeptFor:
			delete(n.slots, pilot)
		default:
			rooms = append(rooms, slot.room)
		}
	}
	return rooms
}

// together is what is left of a slot with what runs in it. 0 stays 0: as much as one may want.
func together(left, busy resource.Room) resource.Room {
	sum := func(a, b int64) int64 {
		if a <= 0 {
			return 0
		}
		return a + b
	}
	left.Cores, left.MemoryMB, left.DiskMB = sum(left.Cores, busy.Cores), sum(left.MemoryMB, busy.MemoryMB), sum(left.DiskMB, busy.DiskMB)
	left.Jobs = sum(left.Jobs, busy.Jobs)
	return left
}

// larger is a slot as large as the larger of two looks at it.
func larger(a, b resource.Room) resource.Room {
	if b.Cores == 0 && b.Labels == nil { // there was no other look
		return a
	}
	most := func(a, b int64) int64 {
		if a <= 0 || b <= 0 {
			return 0
		}
		return max(a, b)
	}
	a.Cores, a.MemoryMB, a.DiskMB, a.Jobs = most(a.Cores, b.Cores), most(a.MemoryMB, b.MemoryMB), most(a.DiskMB, b.DiskMB), most(a.Jobs, b.Jobs)
	if a.WalltimeS = most(a.WalltimeS, b.WalltimeS); a.Labels == nil {
		a.Labels = b.Labels
	}
	return a
}
