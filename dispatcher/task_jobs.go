package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// mostLookedFor bounds how many jobs of a task a page of those in one state looks at: a state that few are in would have it
// read a million.
const mostLookedFor = 2500

// TaskJobs lists jobs of a task, live and ended, by ascending id, as Jobs does. next is the After of the next page, 0 on the
// last one. Of a state a page may be short, or empty, and not be the last: no more than some thousand jobs are looked at for it.
func (d *Dispatcher) TaskJobs(ctx context.Context, f JobFilter) (jobs []JobRow, next int64, err error) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	most := limit
	if f.State != "" {
		most = mostLookedFor
	}
	rows, err := collect[listRow](ctx, d.cfg.Pool, "list_task_jobs", pgx.StrictNamedArgs{"task": f.Task, "state": f.State, "after": f.After,
		"n": limit, "most": most})
	if err != nil {
		return nil, 0, err
	}
	jobs = make([]JobRow, len(rows))
	for i, r := range rows {
		jobs[i] = d.jobRow(r)
	}
	if len(jobs) == limit {
		return jobs, jobs[limit-1].ID, nil
	}
	if f.State == "" {
		return jobs, 0, nil
	}
	var looked *int64
	args := pgx.StrictNamedArgs{"task": f.Task, "state": f.State, "after": f.After, "most": most}
	if err := d.cfg.Pool.QueryRow(ctx, query["looked_at_jobs"], args).Scan(&looked); err != nil {
		return nil, 0, fmt.Errorf("looked_at_jobs: %w", err)
	}
	if looked != nil {
		next = *looked
	}
	return jobs, next, nil
}
