package dispatcher

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// View has look see the machine as it stands. The loop waits for it, so look copies and leaves. ErrUnavailable while the daemon reads its state.
func (d *Dispatcher) View(ctx context.Context, look func(machine.View)) error {
	return d.eye.view(ctx, look)
}

// Return ends leases that are still there as Returned, and says how many there were.
func (d *Dispatcher) Return(ctx context.Context, leases []fold.Fence) (n int, err error) {
	ends := make([]lease.End, len(leases))
	for i, f := range leases {
		ends[i] = lease.End{Key: lease.Key(f), Outcome: entry.Returned}
	}
	if len(ends) == 0 {
		return 0, nil
	}
	out, err := d.finish(ctx, ends)
	for _, v := range out {
		if v.Is {
			n++
		}
	}
	return n, err
}

// Offered is what pilots offered lately and got no jobs for, by pool, as the last tick has it.
func (d *Dispatcher) Offered() map[string]shares.Units {
	all := map[string]shares.Units{}
	if offers := d.offered.Load(); offers != nil {
		for _, o := range *offers {
			all[o.Pool] = o.Units
		}
	}
	return all
}

// told takes what the loop has applied.
func (d *Dispatcher) told(e entry.Entry) {
	switch e := e.(type) {
	case entry.Adopted:
		d.site.adopt(e.Site)
	case entry.Tick:
		d.offered.Store(&e.Offered)
	case entry.Granted:
		d.lately.granted(&e)
		d.rules.Granted(&e)
	}
}
