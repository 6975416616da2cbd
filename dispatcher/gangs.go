package dispatcher

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
)

// GangHolds lists the nodes of which this daemon holds slots for gangs.
func (r *Reads) GangHolds() (list []GangHold) {
	list = []GangHold{}
	r.now(explain.Moment{}, func(m explain.Moment) {
		for _, h := range m.View.GangHolds(m.At) {
			if g, ok := m.View.Gang(h.Claim); ok {
				list = append(list, holdOf(h, g))
			}
		}
	})
	for i := range list {
		list[i].Slots, list[i].Cores = r.lately.waits(list[i].Queue, list[i].Node)
	}
	return list
}

func holdOf(h gate.NodeHold, g gate.Gang) GangHold {
	out := GangHold{Queue: h.Place.Queue, Node: h.Place.Node, Task: g.Task, Claim: h.Claim, Since: h.Hold.Since.UTC(), Until: h.Hold.Until().UTC(), Why: g.Lacks}
	for _, p := range g.Parties {
		for _, n := range p.Ready {
			out.Members += int(n.Jobs)
		}
	}
	if out.Why == "" {
		out.Why = fmt.Sprintf("the slots that wait there have no room for all %d jobs yet", out.Members)
	}
	return out
}
