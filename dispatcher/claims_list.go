package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// claimListRow is a claim as the read statements return it.
type claimListRow struct {
	ID        int64
	TaskID    int64
	Key       string
	Template  ClaimTakes
	LingerS   float64
	State     string
	Queue     string
	Node      string
	Devices   []string
	BoundAt   *time.Time
	Sharers   int
	IdleSince *time.Time
	CreatedAt time.Time
	EndedAt   *time.Time
}

func (r *claimListRow) standing() ClaimStanding {
	return ClaimStanding{ID: r.ID, Task: r.TaskID, Key: r.Key, State: r.State, Template: r.Template, LingerS: r.LingerS, Queue: r.Queue,
		Node: r.Node, Devices: r.Devices, BoundAt: r.BoundAt, Sharers: r.Sharers, IdleSince: r.IdleSince, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
}

// Claims lists claims by ascending id.
func (d *Dispatcher) Claims(ctx context.Context, f ClaimFilter) ([]ClaimStanding, error) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	rows, err := collect[claimListRow](ctx, d.cfg.Pool, "list_claims", pgx.StrictNamedArgs{"after": f.After, "n": limit, "state": f.State,
		"task": f.Task, "node": f.Node, "resource": f.Resource})
	if err != nil {
		return nil, err
	}
	list := make([]ClaimStanding, len(rows))
	for i := range rows {
		list[i] = rows[i].standing()
	}
	return list, nil
}

// Of one claim so many holders and waiters are shown, and so many are looked at: it may be one for all jobs of a task.
const (
	mostShown    = 100
	mostLookedAt = 10_000
)

// Claim is one claim with those that hold it and that wait; ErrNoClaim when there is none with the id.
func (d *Dispatcher) Claim(ctx context.Context, id int64) (ClaimStanding, error) {
	rows, err := collect[claimListRow](ctx, d.cfg.Pool, "get_claim", pgx.StrictNamedArgs{"id": id})
	if err != nil {
		return ClaimStanding{}, err
	}
	if len(rows) == 0 {
		return ClaimStanding{}, fmt.Errorf("%w: %d", ErrNoClaim, id)
	}
	c := rows[0].standing()
	if c.EndedAt != nil {
		return c, nil
	}
	if c.Sharers > 0 {
		if c.Holders, err = collect[ClaimHolder](ctx, d.cfg.Pool, "claim_holders", pgx.StrictNamedArgs{"claim": id, "n": mostShown}); err != nil {
			return ClaimStanding{}, err
		}
	}
	waiters, err := collect[claimWaiterRow](ctx, d.cfg.Pool, "claim_waiters", pgx.StrictNamedArgs{"claim": id, "n": mostShown, "most": mostLookedAt})
	if err != nil {
		return ClaimStanding{}, err
	}
	for _, w := range waiters {
		c.Waiters, c.Waiting = append(c.Waiters, w.ClaimWaiter), w.N
	}
	return c, nil
}

type claimWaiterRow struct {
	ClaimWaiter
	N int
}
