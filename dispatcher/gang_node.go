package dispatcher

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// gangNode is a node that gangs were tried at: for whom its slots are held, and what it has.
type gangNode struct {
	place resource.Place
	hold  resource.Hold // of by; after its end, of vain
	by    *gang         // whom slots are held for; nil: nobody
	vain  int64         // claim for which it was held last, to no end

	slots map[string]nodeSlot      // what pilots offered lately when nothing ran there, by pilot
	busy  map[string]resource.Room // what their jobs take
	read  time.Time                // when that was read
	tried time.Time
	waits bool // pulls of it were held when it was last looked at,
	rests bool // or nothing could be
}

// nodeSlot is the largest that a pilot was seen to be.
type nodeSlot struct {
	room resource.Room
	at   time.Time
}

// unmadeFor is how long it counts that jobs of a gang are still to be made: that there are to be fewer of them is not announced.
const unmadeFor = time.Second

// nodeFresh is how long what was read of a node's leases counts.
const nodeFresh = 2 * time.Second

// node finds or makes one.
func (gs *gangs) node(at resource.Place) *gangNode {
	n := gs.nodes[at]
	if n == nil {
		n = &gangNode{place: at, slots: map[string]nodeSlot{}}
		gs.nodes[at] = n
	}
	return n
}

// letGo ends the hold for a gang, if there is one.
func (gs *gangs) letGo(g *gang) {
	if g.hold != nil {
		g.hold.by, g.hold = nil, nil
	}
}

// gangOffer is a pull that waits at a node, and what is left of its slot.
type gangOffer struct {
	pull *pull
	room resource.Room
}

// offersAt are the pulls that wait at a node and take jobs of a gang, but for those that are held for another one: the oldest first.
// left is what the present one has left.
func (s *state) offersAt(p *pull, q *queue, left job.Room, g *gang) (offers []gangOffer) {
	var others map[*pull]bool
	if n := s.gangs.nodes[placeOf(p)]; n != nil && n.by != nil && n.by != g {
		others = s.heldFor(n)
	}
	for _, o := range s.gangs.line.at(placeOf(p)) {
		of, most := job.RoomOf(o.req.Slot, q.Queue), o.most
		if o == p {
			of, most = left, p.most-len(p.grants)
		}
		if others[o] || !s.takes(o, g) || !o.req.Only.Takes(g.members[0].sh.need.Label) || of.Cores < 1 || of.MemoryMB < 1 || of.DiskMB < 1 {
			continue
		}
		offers = append(offers, gangOffer{o, resourceRoom(of, o, q, most)})
	}
	return offers
}

func roomsOf(offers []gangOffer) []resource.Room {
	rooms := make([]resource.Room, len(offers))
	for i, o := range offers {
		rooms[i] = o.room
	}
	return rooms
}

// heldFor are the pulls that wait for the gang for which a node is held.
func (s *state) heldFor(n *gangNode) map[*pull]bool {
	held := map[*pull]bool{}
	q := s.byName[n.place.Queue]
	if q == nil || n.by == nil || n.by.reading || len(n.by.members) == 0 {
		return held
	}
	var offers []gangOffer
	for _, o := range s.gangs.line.at(n.place) {
		if s.takes(o, n.by) && o.req.Only.Takes(n.by.members[0].sh.need.Label) {
			offers = append(offers, gangOffer{o, resourceRoom(job.RoomOf(o.req.Slot, q.Queue), o, q, o.most)})
		}
	}
	for i, use := range resource.Useful(n.by.needs(), roomsOf(offers)) {
		if use {
			held[offers[i].pull] = true
		}
	}
	return held
}

// whole are all slots of a node as they would be if nothing ran there: what is offered, with what the pilot's jobs take, and
// those of pilots that do not ask now. A pilot is taken for one slot, unless it offers several at once.
func (n *gangNode) whole(offers []gangOffer, now time.Time) (rooms []resource.Room) {
	of := map[string][]resource.Room{}
	for _, o := range offers {
		of[o.pull.req.Pilot] = append(of[o.pull.req.Pilot], o.room)
	}
	for pilot, offered := range of {
		busy, has := n.busy[pilot]
		switch {
		case has && len(offered) == 1:
			offered[0] = wholeSlot(offered[0], busy)
		case has:
			offered = append(offered, beside(busy, offered[0]))
		}
		if len(offered) == 1 {
			before, known := n.slots[pilot]
			offered[0] = larger(offered[0], before.room)
			if known || len(n.slots) < mostSlots {
				n.slots[pilot] = nodeSlot{offered[0], now}
			}
		}
		rooms = append(rooms, offered...)
	}
	for pilot, busy := range n.busy {
		if of[pilot] == nil {
			rooms = append(rooms, larger(busy, n.slots[pilot].room))
		}
	}
	for pilot, slot := range n.slots {
		if _, is := n.busy[pilot]; of[pilot] != nil || is {
			continue
		}
		if now.Sub(slot.at) > pilotMemory {
			delete(n.slots, pilot)
			continue
		}
		rooms = append(rooms, slot.room)
	}
	return rooms
}

// wholeSlot is what is left of a slot with what runs in it. 0 stays 0: as much as one may want.
func wholeSlot(left, busy resource.Room) resource.Room {
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

// beside is a slot with the walltime and labels of another one of the same pilot.
func beside(r, of resource.Room) resource.Room {
	r.WalltimeS, r.Labels = of.WalltimeS, of.Labels
	return r
}

// lookAtGangs ends holds whose time is over, and has the pulls of nodes decided again for which that changes something. It
// forgets what is over.
func (d *Dispatcher) lookAtGangs() {
	s := d.state
	if len(s.gangs.by) == 0 && len(s.gangs.nodes) == 0 {
		return
	}
	now := s.now()
	for _, g := range s.gangs.by {
		switch {
		case s.over(g):
			s.gangs.forget(g)
		case g.read && g.unmade && now.Sub(g.at) > unmadeFor:
			g.read, s.gangs.changed = false, true
		}
	}
	again := s.gangs.changed
	s.gangs.changed = false
	for at, n := range s.gangs.nodes {
		if n.by != nil && !now.Before(n.hold.Until()) {
			n.vain = n.by.claim.id
			s.gangs.letGo(n.by)
		}
		if again || n.by == nil && n.waits || n.rests && n.hold.May(now) {
			n.waits, n.rests = n.by != nil, n.by == nil && !n.hold.May(now)
			d.line.stirAt(at)
		}
		if n.by == nil && !n.rests && now.Sub(n.tried) > pilotMemory {
			s.gangs.forgetNode(at)
		}
	}
	s.gangs.bound()
}

// mostSlots bounds the slots of a node that are remembered, and slotKept is about what one takes, in bytes.
const (
	mostSlots = 4096
	slotKept  = 400
)

// bound forgets nodes where there are too many, those first that were tried longest ago, a quarter at once: names that no one uses twice
// must not fill the memory. Where slots are held they stay.
func (gs *gangs) bound() {
	kept := 0
	for _, n := range gs.nodes {
		kept += n.size()
	}
	if kept <= mostKept {
		return
	}
	for _, n := range slices.SortedFunc(maps.Values(gs.nodes), func(a, b *gangNode) int { return a.tried.Compare(b.tried) }) {
		if n.by != nil {
			continue
		}
		gs.forgetNode(n.place)
		if kept -= n.size(); kept <= mostKept*3/4 {
			return
		}
	}
}

func (n *gangNode) size() int { return slotKept * (1 + len(n.slots)) }

func (gs *gangs) forgetNode(at resource.Place) {
	delete(gs.nodes, at)
	for _, g := range gs.by {
		delete(g.why, at)
	}
}

// at are the pulls that wait at a node, the oldest first.
func (l *line) at(place resource.Place) (pulls []*pull) {
	for c := range l.places[place] {
		for e := c.pulls.Front(); e != nil; e = e.Next() {
			if p := e.Value.(*pull); !p.gone && !p.taken {
				pulls = append(pulls, p)
			}
		}
	}
	slices.SortFunc(pulls, func(a, b *pull) int { return int(a.number - b.number) })
	return pulls
}

// resourceRoom is what is left of a pull's slot as package resource takes it.
func resourceRoom(r job.Room, p *pull, q *queue, most int) resource.Room {
	labels := q.Labels
	if len(p.req.Slot.Labels) > 0 {
		labels = p.labels(q)
	}
	return resource.Room{Cores: int64(r.Cores), MemoryMB: r.MemoryMB, DiskMB: r.DiskMB, WalltimeS: r.WalltimeS, Jobs: int64(most), Labels: labels}
}
