package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// holdingRow is a job, live or ended, with its lease.
type holdingRow struct {
	ID         int64
	Attempt    int32
	JobState   string
	Nonce      *int64
	LeaseState *string
	Queue      *string
}

func scanHolding(row pgx.CollectableRow) (r holdingRow, err error) {
	err = row.Scan(&r.ID, &r.Attempt, &r.JobState, &r.Nonce, &r.LeaseState, &r.Queue)
	return r, err
}

// Holdings looks up the leases of attempts, in the order of its argument: one statement by key, and another one only
// where a job is not live any more. A token that it returns may be lost by the time that it is used, as any other.
func (d *Dispatcher) Holdings(ctx context.Context, of []HeldJob) ([]Holding, error) {
	if len(of) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	found := make(map[int64]holdingRow, len(of))
	for _, verb := range []string{"holdings", "ended_holdings"} {
		var jobs []int64
		for _, h := range of {
			if _, ok := found[h.Job]; !ok {
				jobs = append(jobs, h.Job)
			}
		}
		if len(jobs) == 0 {
			break
		}
		rows, err := byKeyTo(ctx, d, statement{verb, pgx.StrictNamedArgs{"jobs": jobs}}, scanHolding)
		if err != nil {
			return nil, fmt.Errorf("holdings: %w", err)
		}
		for _, r := range rows {
			found[r.ID] = r
		}
	}
	out := make([]Holding, len(of))
	for i, h := range of {
		if r, ok := found[h.Job]; ok {
			out[i] = r.holding(h)
		}
	}
	return out, nil
}

func (r holdingRow) holding(of HeldJob) Holding {
	h := Holding{JobState: r.JobState, Attempt: int(r.Attempt)}
	if r.Nonce != nil && h.Attempt == of.Attempt {
		if r.Queue != nil {
			h.Queue = *r.Queue
		}
		h.Lease, h.State = leaseKey{r.ID, r.Attempt, *r.Nonce}.String(), LeaseState(*r.LeaseState)
	}
	return h
}
