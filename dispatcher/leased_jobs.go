package dispatcher

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// mostLeasesLookedAt bounds the leases that a page of LeasedJobs is chosen from: there may be a million, and few at a queue.
const mostLeasesLookedAt = 20_000

// LeasedJobs lists jobs that pilots have, of a user, of a share and those below it, at a queue, by ascending id. next is the After
// of the next page, 0 on the last one. A page may be short, or empty, and not be the last: no more than some thousand leases are
// looked at for it.
func (d *Dispatcher) LeasedJobs(ctx context.Context, f JobFilter) (jobs []JobRow, next int64, err error) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	rows, err := collect[leasedRow](ctx, d.cfg.Pool, "list_leased_jobs", pgx.StrictNamedArgs{"user": f.User, "share": f.Share, "queue": f.Queue,
		"after": f.After, "n": limit, "most": mostLeasesLookedAt})
	if err != nil {
		return nil, 0, err
	}
	jobs = make([]JobRow, len(rows)-1)
	for i, r := range rows[1:] {
		jobs[i] = d.jobRow(r.listRow)
	}
	switch looked := rows[0].Looked; {
	case len(jobs) == limit:
		next = jobs[limit-1].ID
	case looked != nil:
		next = *looked
	}
	return jobs, next, nil
}

// leasedRow is a job, or, first and with id 0, how far was looked.
type leasedRow struct {
	listRow
	Looked *int64
}
