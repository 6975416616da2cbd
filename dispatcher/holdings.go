package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// HeldJob is an attempt as pilots name it that know no lease: job and number.
type HeldJob struct {
	Job     int64
	Attempt int
}

// Holding is what became of a HeldJob.
type Holding struct {
	Lease    string     // token of that attempt; empty: it is over, or never was
	State    LeaseState // of the lease
	Queue    string     // where it was granted
	JobState string     // of the job now; empty: there is no such job
	Attempt  int        // that the job is at now, or ended with
}

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
