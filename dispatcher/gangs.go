package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/holdings"
)

// GangHolds lists the nodes of which this daemon holds slots for gangs.
func (r *Reads) GangHolds() (list []GangHold) {
	list = []GangHold{}
	r.now(explain.Moment{}, func(m explain.Moment) { list = append(list, holdings.GangHolds(m.View, m.At)...) })
	for i := range list {
		list[i].Slots, list[i].Cores = r.lately.waits(list[i].Queue, list[i].Node)
	}
	return list
}
