package dispatcher

import (
	"cmp"
	"slices"
	"time"
)

// GangHold is a node of which slots wait for a gang.
type GangHold struct {
	Queue   string    `json:"queue"`
	Node    string    `json:"node"`
	Task    int64     `json:"task"`
	Claim   int64     `json:"claim" doc:"That the jobs of the gang share."`
	Key     string    `json:"key"`
	Members int       `json:"members" doc:"Jobs that start together."`
	Slots   int       `json:"slots" doc:"Pulls that wait for it."`
	Cores   int64     `json:"cores" doc:"Of these."`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until" doc:"From then on anybody may have them."`
	Why     string    `json:"why" doc:"What is missing."`
}

// GangHolds lists the nodes of which this daemon holds slots for gangs.
func (d *Dispatcher) GangHolds() []GangHold {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []GangHold{}
	for _, n := range d.state.gangs.nodes {
		if n.by != nil {
			list = append(list, d.state.gangHoldAt(n))
		}
	}
	slices.SortFunc(list, func(a, b GangHold) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Node, b.Node)) })
	return list
}

func (s *state) gangHoldAt(n *gangNode) GangHold {
	g := n.by
	h := GangHold{Queue: n.place.Queue, Node: n.place.Node, Task: g.claim.task, Claim: g.claim.id, Key: g.claim.key, Members: len(g.members),
		Since: n.hold.Since.UTC(), Until: n.hold.Until().UTC(), Why: g.why[n.place]}
	for p := range s.heldFor(n) {
		h.Slots++
		h.Cores += int64(roomOf(p.req.Slot, s.byName[n.place.Queue].Queue).cores)
	}
	return h
}
