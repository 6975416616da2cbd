package books

import (
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Limit is one hard limit: what it bounds may hold no more.
type Limit struct {
	Gate gate.Gate
	Ref  string
	cap  shares.Units
	held shares.Units
}

// Room is what may still be taken; no limit has any room.
func (l *Limit) Room() shares.Units {
	if l == nil {
		return shares.Unlimited
	}
	return l.cap - l.held
}

// charge counts what is taken, or given back when it is negative: then the limit is freed.
func (t *Site) charge(l *Limit, units shares.Units) {
	if l == nil {
		return
	}
	l.held += units
	if units < 0 {
		t.freed(l)
	}
}

// Refuses is the refusal of a job that takes more than there is.
func (l *Limit) Refuses(units shares.Units) gate.Refusal {
	return gate.Refusal{Gate: l.Gate, Ref: l.Ref, Needed: int64(units), Had: int64(max(0, l.Room()))}
}

// Full is the limit of queue or pool that has no room for a job of so many cores, and how much that takes; nil: both have.
func (q *Queue) Full(cores int) (l *Limit, units shares.Units) {
	if units = shares.Units(cores) * 1000; q.Limit.Room() < units {
		return q.Limit, units
	}
	if units = shares.Units(int64(cores) * q.CorePowerMilli); q.Home.Limit.Room() < units {
		return q.Home.Limit, units
	}
	return nil, 0
}
