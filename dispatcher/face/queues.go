package face

import (
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// queues finds the queues of the site for the loop, whose goroutine alone uses it.
type queues struct {
	number int64 // of the version that is indexed
	by     map[shares.QueueID]shares.Queue
}

func (q *queues) queue(m lease.Machine, id shares.QueueID) (at shares.Queue, ok bool) {
	mm, ok := m.(*machine.Machine)
	if !ok {
		return at, false
	}
	if v := mm.Site(); q.by == nil || q.number != v.Number {
		q.number, q.by = v.Number, make(map[shares.QueueID]shares.Queue, len(v.Queues))
		for _, each := range v.Queues {
			q.by[each.ID] = each
		}
	}
	at, ok = q.by[id]
	return at, ok
}

func (q *queues) polled(m lease.Machine) (list []shares.QueueID) {
	if mm, ok := m.(*machine.Machine); ok {
		v := mm.View()
		for _, each := range v.Site.Queues {
			if v.Queue(each.ID).Polled {
				list = append(list, each.ID)
			}
		}
	}
	return list
}
