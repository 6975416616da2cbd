package holdings

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// GangHolds lists the nodes of which slots are held for gangs at a time, without the pulls that wait there.
func GangHolds(v machine.View, now time.Time) (list []GangHold) {
	for _, h := range v.GangHolds(now) {
		if g, ok := v.Gang(h.Claim); ok {
			hold := holdOf(h, g)
			if c, ok := v.Claim(h.Claim); ok {
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
