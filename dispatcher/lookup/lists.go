package lookup

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// mostLooked bounds how many jobs of a task a page of those in a final state looks at, and how many leases a page of LeasedJobs is chosen
// from: there may be a million, and few of them in that state or at that queue.
const mostLooked = 20_000

func (f JobFilter) limit() int {
	if f.Limit <= 0 || f.Limit > 1000 {
		return 100
	}
	return f.Limit
}

// ids runs a statement that returns ids.
func (r *Reader) ids(ctx context.Context, verb string, args pg.Args) ([]int64, error) {
	return pg.CollectTo(ctx, pgx.RowTo[int64], r.cfg.DB, query[verb], args)
}

// listed looks a page up. Jobs that have left the state since their ids were found are left out.
func (r *Reader) listed(ctx context.Context, ids []int64, f JobFilter) ([]JobRow, error) {
	rows, err := r.rows(ctx, ids, false)
	if err != nil {
		return nil, err
	}
	if f.State != "" {
		rows = slices.DeleteFunc(rows, func(row jobRow) bool { return row.State != f.State })
	}
	if f.Last {
		return r.withLast(ctx, rows)
	}
	return r.shown(ctx, rows)
}

// Jobs lists jobs of all tasks, live and ended, by ascending id; TaskJobs those of one. A page that is shorter than its limit is the last
// one; jobs that leave the state while they are looked up are replaced by those behind them.
func (r *Reader) Jobs(ctx context.Context, f JobFilter) (jobs []JobRow, err error) {
	limit := f.limit()
	jobs = []JobRow{}
	for after := f.After; len(jobs) < limit; {
		n := limit - len(jobs)
		ids, err := r.idsIn(ctx, f.State, after, n)
		if err != nil {
			return nil, err
		}
		page, err := r.listed(ctx, ids, JobFilter{State: f.State})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page...)
		if len(ids) < n {
			break
		}
		after = ids[n-1]
	}
	return jobs, nil
}

// idsIn are ids of jobs in a state, or in any, behind a cursor.
func (r *Reader) idsIn(ctx context.Context, state string, after int64, n int) ([]int64, error) {
	args := pg.Args{"after": after, "n": n}
	switch state {
	case "":
		return r.ids(ctx, "ids", args)
	case leased:
		return r.ids(ctx, "ids_leased", args)
	case ready, waiting:
		args["ready"] = state == ready
		return r.ids(ctx, "ids_idle", args)
	case finished, failed, cancelled:
		args["state"] = finals[state]
		return r.ids(ctx, "ids_over", args)
	}
	return nil, nil
}

// TaskJobs lists jobs of a task, live and ended, by ascending id, as Jobs does. next is the After of the next page, 0 on the
// last one. Of a state a page may be short, or empty, and not be the last: no more than some thousand jobs are looked at for it.
func (r *Reader) TaskJobs(ctx context.Context, f JobFilter) (jobs []JobRow, next int64, err error) {
	limit := f.limit()
	ids, next, err := r.taskIDs(ctx, f, limit)
	if err != nil {
		return nil, 0, err
	}
	jobs, err = r.listed(ctx, ids, f)
	return jobs, next, err
}

// taskIDs are ids of jobs of a task in a state, or in any; next is as of TaskJobs.
func (r *Reader) taskIDs(ctx context.Context, f JobFilter, n int) (ids []int64, next int64, err error) {
	args := pg.Args{"task": f.Task, "after": f.After, "n": n}
	if !f.EndedAfter.IsZero() && f.State == "" {
		return r.taskIDsOver(ctx, f, slices.Sorted(maps.Values(finals)), n)
	}
	switch f.State {
	case "":
		ids, err = r.ids(ctx, "task_ids", args)
	case leased:
		ids, err = r.ids(ctx, "task_ids_leased", args)
	case ready, waiting:
		args["ready"], args["waiting"] = f.State == ready, f.State == waiting
		ids, err = r.ids(ctx, "task_ids_idle", args)
	case finished, failed, cancelled:
		return r.taskIDsOver(ctx, f, []string{finals[f.State]}, n)
	default:
		return nil, 0, nil
	}
	if err == nil && len(ids) == n {
		next = ids[n-1]
	}
	return ids, next, err
}

// taskIDsOver are ids of jobs of a task that are over, of those that a page looks at.
func (r *Reader) taskIDsOver(ctx context.Context, f JobFilter, states []string, n int) (ids []int64, next int64, err error) {
	upto, err := r.ids(ctx, "task_upto", pg.Args{"task": f.Task, "after": f.After, "n": mostLooked})
	if err != nil {
		return nil, 0, err
	}
	last := int64(math.MaxInt64)
	if len(upto) > 0 {
		last, next = upto[0], upto[0]
	}
	args := pg.Args{"task": f.Task, "after": f.After, "upto": last, "states": states, "since": f.EndedAfter, "n": n}
	ids, err = r.ids(ctx, "task_ids_over", args)
	if err == nil && len(ids) == n {
		next = ids[n-1]
	}
	return ids, next, err
}

// JobIDs returns the ids of jobs of a task, rising, at most Limit.
func (r *Reader) JobIDs(ctx context.Context, c JobChoice) (ids []int64, err error) {
	if c.Limit <= 0 {
		return nil, nil
	}
	if c.Live {
		args := pg.Args{"task": c.Task, "after": int64(0), "n": c.Limit}
		if ids, err = r.ids(ctx, "task_ids_leased", args); err != nil {
			return nil, err
		}
		args["ready"], args["waiting"] = true, true
		idle, err := r.ids(ctx, "task_ids_idle", args)
		if err != nil {
			return nil, err
		}
		ids = append(ids, idle...)
	}
	var states []string
	for _, s := range c.Ended {
		if letter, ok := finals[s]; ok {
			states = append(states, letter)
		}
	}
	if len(states) > 0 {
		over, err := r.allOver(ctx, c, states)
		if err != nil {
			return nil, err
		}
		ids = append(ids, over...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), c.Limit)], nil
}

// allOver goes from page to page until there are enough.
func (r *Reader) allOver(ctx context.Context, c JobChoice, states []string) (ids []int64, err error) {
	for f := (JobFilter{Task: c.Task}); ; {
		page, next, err := r.taskIDsOver(ctx, f, states, c.Limit-len(ids))
		if err != nil {
			return nil, err
		}
		if ids = append(ids, page...); next == 0 || len(ids) >= c.Limit {
			return ids, nil
		}
		f.After = next
	}
}

// Metadata returns what payloads of a task's finished jobs reported, of at most n jobs by rising id behind after.
func (r *Reader) Metadata(ctx context.Context, task, after int64, n int) ([]JobMetadata, error) {
	return pg.Collect[JobMetadata](ctx, r.cfg.DB, query["metadata"], pg.Args{"task": task, "after": after, "n": n})
}

// LeasedJobs lists jobs that pilots have, of a user, of a share and those below it, at a queue, by ascending id. next is the After
// of the next page, 0 on the last one. A page may be short, or empty, and not be the last: no more than some thousand leases are
// looked at for it.
func (r *Reader) LeasedJobs(ctx context.Context, f JobFilter) (jobs []JobRow, next int64, err error) {
	limit := f.limit()
	ids, next, err := r.leasedIDs(ctx, f, limit, mostLooked)
	if err != nil {
		return nil, 0, err
	}
	jobs, err = r.listed(ctx, ids, JobFilter{State: leased})
	return jobs, next, err
}

// leasedIDs are the ids of a page that is chosen from so many leases.
func (r *Reader) leasedIDs(ctx context.Context, f JobFilter, n, most int) (ids []int64, next int64, err error) {
	type found struct {
		ID     int64
		Looked *int64
	}
	args := pg.Args{"user": f.User, "share": f.Share, "queue": f.Queue, "after": f.After, "n": n, "most": most}
	rows, err := pg.Collect[found](ctx, r.cfg.DB, query["leased"], args)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range rows[1:] {
		ids = append(ids, l.ID)
	}
	switch looked := rows[0].Looked; {
	case len(ids) == n:
		next = ids[n-1]
	case looked != nil:
		next = *looked
	}
	return ids, next, nil
}

// Ended is how many jobs reached their final state within a time, to the hour, as of what is folded. Jobs that a rule
// gave up are of the queue of their last attempt; those that ended without a lease have none.
func (r *Reader) Ended(ctx context.Context, within time.Duration) ([]explain.Count, error) {
	type row struct {
		Share   string
		ShapeID int32
		Queue   string
		Pool    string
		State   string
		N       int64
	}
	rows, err := pg.Collect[row](ctx, r.cfg.DB, query["ends"], pg.Args{"minutes": int(within.Minutes())})
	if err != nil {
		return nil, fmt.Errorf("ended jobs: %w", err)
	}
	shapes := make([]int32, len(rows))
	for i, e := range rows {
		shapes[i] = e.ShapeID
	}
	needs, err := r.needsOf(ctx, shapes)
	if err != nil {
		return nil, fmt.Errorf("ended jobs: %w", err)
	}
	out := make([]explain.Count, 0, len(rows))
	for _, e := range rows {
		need, ok := needs[e.ShapeID]
		if !ok {
			continue
		}
		c := explain.Count{Share: e.Share, Class: job.Class(need), Label: need.Label, State: e.State, N: e.N}
		if e.Queue != "" {
			c.Queues, c.Pools = []string{e.Queue}, []string{e.Pool}
		}
		out = append(out, c)
	}
	return out, nil
}
