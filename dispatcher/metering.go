package dispatcher

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/meter"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/tally"
)

func (b background) count(ctx context.Context) (n int, err error) {
	var t tally.Tally
	if err := b.loop.Watch(ctx, func(n *lease.Node) { t = n.Counted() }); err != nil {
		return 0, err
	}
	b.meter.Add(t)
	return 0, nil
}

// survey shows how all stands.
func (b background) survey(ctx context.Context) (n int, err error) {
	var locks []meter.Lock
	if b.eye.leads() { // they are the same for all daemons
		if locks, err = meter.Locks(ctx, b.cfg.Pool); err != nil {
			return 0, err
		}
	}
	var s meter.Snapshot
	err = b.eye.moment(ctx, func(m explain.Moment) {
		m.Pulls = b.lately
		m.Wanted = b.wanted.of(m)
		s = meter.Look(m, b.cfg.ShareMetrics)
		s.Claims = claimsByState(m.View)
	})
	if err != nil {
		return 0, err
	}
	s.Locks, s.Lag, s.Daemons = locks, b.brake.now().lag, int(b.peers.Load())+1
	b.meter.Show(s)
	return len(s.Pools), nil
}

func claimsByState(v machine.View) map[string]int64 {
	n := map[string]int64{}
	if saved := v.Claims(); saved != nil {
		for _, c := range saved.Claims {
			n[string(c.Claim.State)]++
		}
	}
	return n
}

// standing is series.Sampler's.
func (b background) standing() (st explain.Standing, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), seeWithin)
	defer cancel()
	err := b.eye.moment(ctx, func(m explain.Moment) { st = m.Standing() })
	return st, err == nil
}

// moment has a function look at the machine with the time of the log, and nothing that only the leader knows.
func (e *eye) moment(ctx context.Context, look func(explain.Moment)) error {
	return e.view(ctx, func(v machine.View) { look(explain.Moment{View: v, At: v.Now}) })
}

// checkpoint copies the machine where it is the log, and not ahead of it; nil: it is ahead, and another look may find it so.
func (e *eye) checkpoint(ctx context.Context) (c *replay.Checkpoint, err error) {
	err = e.loop.Watch(ctx, func(n *lease.Node) {
		m, settled := n.Machine()
		if mm, ok := m.(*machine.Machine); ok && settled {
			if seq, _ := mm.Stand(); seq > 0 {
				c = replay.Take(mm, n.At())
			}
		}
	})
	return c, err
}
