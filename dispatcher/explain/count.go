package explain

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Counts is how many jobs are ready and leased. It does the same little for each kind of jobs however many queues there are; the
// names of queues are shared between counts and not to be changed.
func (m Moment) Counts() (list []Count) {
	n, some := m.naming(), someOnly(m.View.Site)
	for b := range m.View.Ready() {
		if b.Ready == 0 {
			continue
		}
		at := &places{}
		if b.Leaf >= 0 && len(b.Runs) > 0 {
			at = n.all(place(b, some), b.Runs)
		}
		list = append(list, m.count(b.Share, b.Shape, "ready", b.Ready).at(at))
	}
	for h := range m.View.Held() {
		if h.Jobs > 0 && !charges(m.View, h.Shape) {
			list = append(list, m.count(h.Share, h.Shape, "leased", h.Jobs).at(n.one(h.Queue)))
		}
	}
	return list
}

// EndCount is how many jobs of a share and shape reached a final state; Queue is 0 of those that were cancelled before they ran.
type EndCount struct {
	Share shares.ShareID
	Shape int32
	Queue shares.QueueID
	State string
	N     int64
}

// Ended names what a table has counted. Jobs of a shape that the machine does not know are left out.
func (m Moment) Ended(rows []EndCount) (list []Count) {
	n := m.naming()
	for _, r := range rows {
		if _, ok := m.View.Shape(r.Shape); ok {
			list = append(list, m.count(r.Share, r.Shape, r.State, r.N).at(n.one(r.Queue)))
		}
	}
	return list
}

func (m Moment) count(share shares.ShareID, shape int32, state string, n int64) Count {
	need, _ := m.View.Shape(shape)
	return Count{Share: pathOf(m.View.Site, share), Class: job.Class(need), Label: need.Label, State: state, N: n}
}

// at puts a count at queues.
func (c Count) at(p *places) Count {
	c.Queues, c.Pools = p.queues, p.pools
	return c
}

// places are queues and their pools, by name.
type places struct{ queues, pools []string }

func (p *places) add(q shares.Queue) {
	p.queues = append(p.queues, q.Name)
	if !slices.Contains(p.pools, q.Pool) {
		p.pools = append(p.pools, q.Pool)
	}
}

// naming makes places, each once.
type naming struct {
	m      Moment
	queues map[shares.QueueID]*places
	lists  map[placed]*places
}

func (m Moment) naming() naming {
	n := naming{m, map[shares.QueueID]*places{}, map[placed]*places{}}
	for _, q := range m.View.Site.Queues {
		n.queues[q.ID] = &places{}
		n.queues[q.ID].add(q)
	}
	return n
}

// one is a queue; nowhere when it is not there any more.
func (n naming) one(id shares.QueueID) *places {
	if p := n.queues[id]; p != nil {
		return p
	}
	return &places{}
}

// all are the queues at which jobs may run.
func (n naming) all(key placed, runs []bool) *places {
	p := n.lists[key]
	if p == nil {
		p = &places{}
		for i, q := range n.m.View.Site.Queues {
			if runs[i] && (key.leaf == 0 || q.Runs(n.m.View.Site.Tree.Nodes[key.leaf].Path)) {
				p.add(q)
			}
		}
		n.lists[key] = p
	}
	return p
}
