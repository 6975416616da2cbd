package dispatcher

import (
	"context"
	"fmt"
)

// secure makes what was read before as safe as a commit that was answered. Where a commit waits for a synchronous standby and
// the wait is broken off (the daemon's time limit, a connection that broke), PostgreSQL shows it though the standby may not
// have it: an answer out of such rows alone would promise what a failover can lose. It costs a commit, so it is for
// answers to repeats, once for all that were looked up together. It waits where there is no standby to wait for
// too: then for the disk, as any commit.
func (d *Dispatcher) secure(ctx context.Context) error {
	if _, err := d.cfg.Pool.Exec(ctx, query["secure"]); err != nil {
		return fmt.Errorf("secure what was read: %w", err)
	}
	return nil
}
