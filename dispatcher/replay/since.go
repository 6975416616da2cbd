package replay

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/shares"
)

// Since is a checkpoint that was unpacked as the fold knows it: to see whether the tables are what the log says, where its beginning is gone.
func (c *Checkpoint) Since() fold.Since {
	m := c.Machine
	s := fold.Since{Position: fold.Position{Seq: m.Seq, ID: m.ID, At: c.At}, Version: m.Version, Now: m.Now, Users: map[int64]string{}, Cores: map[int32]int64{},
		Paused: m.Paused, Claims: m.Claims, Expected: m.Expected}
	for _, e := range c.Shapes {
		s.Cores[e.Shape] = int64(e.Need.Cores)
	}
	for i := range c.idle.rows() {
		v, state := c.idle.row(i), fold.Ready
		if v[8] == 1 {
			state = fold.Waiting
		}
		s.Users[v[2]] = c.names.text(v[7])
		s.Ranges = append(s.Ranges, fold.Range{Low: v[0], High: v[0] + v[1], Like: fold.Like{Task: v[2], Place: v[3], Share: shares.ShareID(v[4]), Shape: int32(v[5]),
			Attempt: int32(v[6]), State: state}})
	}
	homes := m.Leases.Homes // in the order of jobs, as the leases are once they are packed
	for i := range c.leases.rows() {
		v := c.leases.row(i)
		l := fold.Holding{Home: shares.ShareID(v[3]), Lease: fold.Lease{Granted: c.granted(v), StartDelayMS: -1}}
		if v[8] == 1 {
			l.StartDelayMS = 0
		}
		for len(homes) > 0 && homes[0].High < l.Job {
			homes = homes[1:]
		}
		if len(homes) > 0 && homes[0].Low <= l.Job {
			l.Home = homes[0].Share
		}
		s.Users[l.Task] = c.names.text(v[11])
		s.Leases = append(s.Leases, l)
	}
	return s
}

// granted is the grant of a lease, without secrets.
func (c *Checkpoint) granted(v [leaseColumns]int64) entry.Granted {
	return entry.Granted{Job: v[0], Attempt: int32(v[1]), Task: v[2], Share: shares.ShareID(v[3]), Shape: int32(v[4]), Place: v[5], Queue: shares.QueueID(v[6]),
		Units: shares.Units(v[7]), Pilot: c.names.text(v[9]), Node: c.names.text(v[10])}
}
