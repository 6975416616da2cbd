package dispatcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

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
		h.Cores += int64(job.RoomOf(p.req.Slot, s.byName[n.place.Queue].Queue).Cores)
	}
	return h
}

// mostGangNodes bounds the nodes that an explanation names.
const mostGangNodes = 5

// gathers says what a job waits for at a queue whose gang has not started: which node holds how much for it, until when, and
// what is missing at those where it was tried.
func (g *gates) gathers(q *queue) (Gate, string) {
	var of *gang
	for i := range g.job.claims {
		if known := g.s.gangs.by[g.job.claims[i].ID]; known != nil && !g.s.over(known) {
			of = known
		}
	}
	size := g.shape.need.Claims.Gang
	switch {
	case of == nil:
		return GateGangWaiting, fmt.Sprintf("%s start together on one node, and no pull has come to them yet", plural(size, "job"))
	case of.lacks != "":
		return GateGangWaiting, fmt.Sprintf("%s start together on one node: %s", plural(size, "job"), of.lacks)
	}
	var at []string
	if n := of.hold; n != nil && n.place.Queue == q.Name {
		h := g.s.gangHoldAt(n)
		at = append(at, fmt.Sprintf("%s of node %s with %s are held for it until %s", plural(h.Slots, "slot"), h.Node, plural(int(h.Cores), "core"),
			h.Until.Format(time.TimeOnly)))
	}
	places := []resource.Place{}
	for place := range of.why {
		if place.Queue == q.Name {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b resource.Place) int { return strings.Compare(a.Node, b.Node) })
	for _, place := range places[:min(len(places), mostGangNodes)] {
		at = append(at, fmt.Sprintf("node %s: %s", place.Node, of.why[place]))
	}
	if len(at) == 0 {
		at = append(at, "no pull of this queue has come to them yet")
	}
	return GateGangWaiting, fmt.Sprintf("%s start together on one node: %s", plural(len(of.members), "job"), strings.Join(at, "; "))
}
