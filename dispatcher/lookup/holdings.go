package lookup

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/internal/pg"
)

// leaseRow is a lease.
type leaseRow struct {
	Job          int64
	Attempt      int32
	Nonce        int64
	StartDelayMS int32
	Queue        string
}

func (l leaseRow) fence() fold.Fence {
	return fold.Fence{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
}

func (l leaseRow) state() LeaseState {
	if l.StartDelayMS < 0 {
		return Granted
	}
	return Running
}

func (r *Reader) leases(ctx context.Context, jobs []int64) (map[int64]leaseRow, error) {
	rows, err := collect[leaseRow](ctx, r, "leases", pg.Args{"jobs": jobs})
	if err != nil {
		return nil, err
	}
	by := make(map[int64]leaseRow, len(rows))
	for _, l := range rows {
		by[l.Job] = l
	}
	return by, nil
}

// Holdings looks up the leases of attempts, in the order of its argument: one statement by key, and another one only
// where a job has no lease. A token that it returns may be lost by the time that it is used, as any other.
func (r *Reader) Holdings(ctx context.Context, attempts []HeldJob) ([]Holding, error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	jobs := make([]int64, len(attempts))
	for i, h := range attempts {
		jobs[i] = h.Job
	}
	held, err := r.leases(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("holdings: %w", err)
	}
	fences, others := []fold.Fence{}, []int64{}
	for _, h := range attempts {
		if l, ok := held[h.Job]; !ok {
			others = append(others, h.Job)
		} else if int(l.Attempt) == h.Attempt {
			fences = append(fences, l.fence())
		}
	}
	known := r.soft(ctx, fences)
	rest, err := r.standing(ctx, others)
	if err != nil {
		return nil, fmt.Errorf("holdings: %w", err)
	}
	out := make([]Holding, len(attempts))
	for i, h := range attempts {
		l, ok := held[h.Job]
		if !ok {
			out[i] = rest[h.Job]
			continue
		}
		out[i] = Holding{JobState: leased, Attempt: int(l.Attempt)}
		if int(l.Attempt) == h.Attempt {
			out[i].Lease, out[i].State, out[i].Queue = token(l.fence()), l.state(), l.Queue
			if s := known[l.fence()].State; s != "" {
				out[i].State = s
			}
		}
	}
	return out, nil
}

// standing is by job what becomes of those that had no lease a moment ago.
func (r *Reader) standing(ctx context.Context, jobs []int64) (map[int64]Holding, error) {
	rows, err := r.rows(ctx, jobs, false)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]Holding, len(rows))
	for _, row := range rows {
		by[row.ID] = Holding{JobState: row.State, Attempt: row.Attempt}
	}
	return by, nil
}

// LeaseQueues returns the queues of leases, by token. Leases that are over have none.
func (r *Reader) LeaseQueues(ctx context.Context, leases []string) (map[string]string, error) {
	var jobs []int64
	for _, l := range leases {
		if f, ok := parse(l); ok {
			jobs = append(jobs, f.Job)
		}
	}
	held, err := r.leases(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("queues of leases: %w", err)
	}
	at := make(map[string]string, len(held))
	for _, l := range leases {
		if f, ok := parse(l); ok {
			if h, ok := held[f.Job]; ok && h.Nonce == f.Nonce {
				at[l] = h.Queue
			}
		}
	}
	return at, nil
}
