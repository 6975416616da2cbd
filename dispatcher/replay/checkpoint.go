package replay

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Checkpoint is all of a machine but its site, as of a batch. It has no secrets: what is replayed is who got which job.
type Checkpoint struct {
	At      time.Time // of the batch
	Machine machine.Checkpoint
	Shapes  []entry.Shaped
	Orders  map[int64]machine.Order // to end attempts, by job

	leases table
	idle   table // jobs without one
	names  names
}

// Columns of the two tables; names are numbers.
const (
	leaseColumns = 12
	idleColumns  = 9
)

// Take copies a machine that stands at a batch with that time. It takes a second for a million leases; Pack needs no machine.
func Take(m *machine.Machine, at time.Time) *Checkpoint {
	c := &Checkpoint{At: at.UTC(), Machine: m.Checkpoint(), Orders: map[int64]machine.Order{}, leases: newTable(leaseColumns), idle: newTable(idleColumns)}
	for s := range m.Shapes() {
		c.Shapes = append(c.Shapes, s)
	}
	for r, waits := range m.Ranges() {
		c.idle.add(r.Low, r.High-r.Low, r.Task, r.Place, int64(r.Share), int64(r.Shape), int64(r.Attempt), c.names.number(r.User), number(waits))
	}
	for l := range m.Leases() {
		c.leases.add(l.Job, int64(l.Attempt), l.Task, int64(l.Share), int64(l.Shape), l.Place, int64(l.Queue), int64(l.Units), number(l.Started),
			c.names.number(l.Pilot), c.names.number(l.Node), c.names.number(l.User))
		if l.Order != nil {
			c.Orders[l.Job] = *l.Order
		}
	}
	return c
}

// Restore makes a machine of it, and of the version of the site that was in force.
func (c *Checkpoint) Restore(cfg machine.Config, site shares.Version) (*machine.Machine, error) {
	r, err := machine.Restore(cfg, c.Machine, site, c.Shapes)
	if err != nil {
		return nil, err
	}
	for i := range c.idle.rows() {
		v, take := c.idle.row(i), r.Ready
		if v[8] == 1 {
			take = r.Waiting
		}
		err := take(entry.Enqueued{Low: v[0], High: v[0] + v[1], Task: v[2], Place: v[3], Share: shares.ShareID(v[4]), Shape: int32(v[5]), Attempt: int32(v[6]),
			User: c.names.text(v[7])})
		if err != nil {
			return nil, fmt.Errorf("checkpoint at batch %d: %w", c.Machine.Seq, err)
		}
	}
	for i := range c.leases.rows() {
		v := c.leases.row(i)
		l := machine.Lease{User: c.names.text(v[11]), Started: v[8] == 1, Granted: entry.Granted{Job: v[0], Attempt: int32(v[1]), Task: v[2], Share: shares.ShareID(v[3]),
			Shape: int32(v[4]), Place: v[5], Queue: shares.QueueID(v[6]), Units: shares.Units(v[7]), Pilot: c.names.text(v[9]), Node: c.names.text(v[10])}}
		if order, ok := c.Orders[v[0]]; ok {
			l.Order = &order
		}
		if err := r.Lease(l, c.Machine.Now); err != nil {
			return nil, fmt.Errorf("checkpoint at batch %d: %w", c.Machine.Seq, err)
		}
	}
	return r.Done()
}

func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// names keeps each text once. The zero value is empty.
type names struct {
	list []string
	by   map[string]int64
}

func (n *names) number(text string) int64 {
	i, ok := n.by[text]
	if !ok {
		if n.by == nil {
			n.by = map[string]int64{}
		}
		i = int64(len(n.list))
		n.by[text], n.list = i, append(n.list, text)
	}
	return i
}

func (n *names) text(i int64) string {
	if i < 0 || i >= int64(len(n.list)) {
		return ""
	}
	return n.list[i]
}
