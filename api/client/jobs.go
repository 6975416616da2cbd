package client

import (
	"context"
	"iter"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Jobs shows jobs and ends them.
type Jobs struct{ c *Client }

// Jobs are the calls about jobs.
func (c *Client) Jobs() Jobs { return Jobs{c} }

const jobsPath = "/v1/jobs"

// JobFilter selects jobs; zero fields select nothing away.
type JobFilter struct {
	Task  int64
	User  string
	Share string // this one and those below it
	Queue string
	State string
	Limit int // 0 = 100; at most 1000, with LastAttempt 200
	After string

	EndedAfter  time.Time // with Task: jobs that ended after this time
	LastAttempt bool      // with Task: each job with its running or last attempt
}

// List lists one page of jobs, by id.
func (j Jobs) List(ctx context.Context, f JobFilter) (wire.Page[wire.JobRow], error) {
	return get[wire.Page[wire.JobRow]](ctx, j.c, jobsPath, params("task", number(f.Task), "user", f.User, "share", f.Share, "queue", f.Queue,
		"state", f.State, "limit", number(f.Limit), "after", f.After, "ended_after", moment(f.EndedAfter), "last_attempt", flag(f.LastAttempt)))
}

// All goes through all pages.
func (j Jobs) All(ctx context.Context, f JobFilter) iter.Seq2[wire.JobRow, error] {
	return all(f.After, func(after string) (wire.Page[wire.JobRow], error) {
		f.After = after
		return j.List(ctx, f)
	})
}

// Get shows a job with its attempts.
func (j Jobs) Get(ctx context.Context, id int64) (wire.JobRow, error) {
	return get[wire.JobRow](ctx, j.c, under(jobsPath, id, ""), nil)
}

// Log is the end of an attempt's output; attempt 0 = the last one.
func (j Jobs) Log(ctx context.Context, id int64, attempt int) (wire.Log, error) {
	return get[wire.Log](ctx, j.c, under(jobsPath, id, "/log"), params("attempt", number(attempt)))
}

// Kill cancels one job.
func (j Jobs) Kill(ctx context.Context, id int64) (wire.Killed, error) {
	return post[wire.Killed](ctx, j.c, under(jobsPath, id, "/kill"), nil)
}

// Explain says why a job waits, or why it was given its slot.
func (j Jobs) Explain(ctx context.Context, id int64) (wire.Explanation, error) {
	return get[wire.Explanation](ctx, j.c, under(jobsPath, id, "/explain"), nil)
}
