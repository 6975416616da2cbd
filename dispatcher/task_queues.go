package dispatcher

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// mostKinds bounds how many live jobs of a task are looked at for their kinds.
const mostKinds = 10_000

type kindRow struct {
	ShareID shares.ShareID
	ShapeID int32
	Jobs    int64
	ToCome  int64
}

// TaskQueues says where the jobs of a task may run, and which filter excludes which queue: one answer for each kind of
// jobs that it has or will have. None: it is over, or nothing of it is a job yet.
func (d *Dispatcher) TaskQueues(ctx context.Context, task int64) ([]KindQueues, error) {
	rows, err := collect[kindRow](ctx, d.cfg.Pool, "task_kinds", pgx.StrictNamedArgs{"task": task, "most": mostKinds})
	if err != nil {
		return nil, fmt.Errorf("queues of a task: %w", err)
	}
	out := []KindQueues{}
	for _, r := range rows {
		need, err := d.fullNeed(ctx, r.ShapeID)
		if err != nil {
			return nil, fmt.Errorf("queues of a task: %w", err)
		}
		d.mu.Lock()
		k := KindQueues{Share: d.state.pathOf(r.ShareID), Needs: need, Jobs: r.Jobs, ToCome: r.ToCome, Queues: make([]QueueFit, len(d.state.version.Queues))}
		for i, q := range d.state.version.Queues {
			k.Queues[i] = fitAt(need, q, k.Share)
			k.Queues[i].Pilots = len(d.state.queues[q.ID].pilots)
		}
		d.mu.Unlock()
		out = append(out, k)
	}
	return out, nil
}

func fitAt(need job.Requirements, q shares.Queue, share string) QueueFit {
	f := QueueFit{Queue: q.Name, Pool: q.Pool, State: q.State, Reason: cmp.Or(job.Fits(need, q, q.Labels), job.ClosedTo(q, share))}
	f.Runs = f.Reason == ""
	f.Remote = f.Runs && need.Locality == job.LocalityPreferred && !job.Local(need.Locations, q)
	return f
}
