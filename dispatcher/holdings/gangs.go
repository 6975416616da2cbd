package holdings

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
)

// GangHolds lists the nodes of which slots are held for gangs.
func GangHolds(m explain.Moment) (list []GangHold) {
	for _, h := range m.View.GangHolds(m.At) {
		if g, ok := m.View.Gang(h.Claim); ok {
			hold, waits := holdOf(h, g), m.AtNodes[h.Place]
			hold.Slots, hold.Cores = waits.Slots, waits.Cores
			if c, ok := m.View.Claim(h.Claim); ok {
				hold.Key = c.Key
			}
			list = append(list, hold)
		}
	}
	return list
}

func holdOf(h gate.NodeHold, g gate.Gang) GangHold {
	out := GangHold{Queue: h.Place.Queue, Node: h.Place.Node, Task: g.Task, Claim: h.Claim, Since: h.Hold.Since.UTC(), Until: h.Hold.Until().UTC(), Why: g.Lacks}
	for _, n := range g.Ready {
		out.Members += int(n)
	}
	if out.Why == "" {
		out.Why = fmt.Sprintf("the slots that wait there have no room for all %d jobs yet", out.Members)
	}
	return out
}
