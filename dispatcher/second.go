package dispatcher

import (
	"context"
	"time"
)

// The second lease worker has its batch executed while the first one's is made durable. It helps when enough pulls
// have gathered for a batch that is worth its transaction, or when the first worker is held up; else they are in the
// first one's next batch, which is larger for it: at half of the top rate two workers that take whatever is there
// would keep the machine as busy as at the top, and the slowest pulls wait for that.
const (
	helpFrom  = 48                   // pulls
	helpAfter = 5 * time.Millisecond // of one batch of the first worker
)

// secondLoop is the second lease worker.
func (d *Dispatcher) secondLoop(ctx context.Context, own func() *lane) {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.helps:
		case <-look.C:
		}
		if d.tendLane(ctx, own()) {
			look.Reset(tendPause)
			continue
		}
		waiting, help := d.worthHelp()
		for help && d.leaseOnce(ctx, own()) {
			waiting, help = d.worthHelp()
		}
		if waiting {
			look.Reset(helpAfter)
		}
	}
}

// worthHelp says whether pulls wait to be decided while the first worker is at a batch, and whether the second one
// should take them. Beside other daemons one batch in flight is enough: all of them share the database.
func (d *Dispatcher) worthHelp() (waiting, help bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, c := range d.line.awake {
		if n += c.pulls.Len(); n >= helpFrom {
			break
		}
	}
	if n == 0 || d.firstBegan.IsZero() {
		return false, false
	}
	return true, n >= helpFrom && d.state.slice.all() || time.Since(d.firstBegan) > helpAfter
}
