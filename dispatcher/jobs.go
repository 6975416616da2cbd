package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares/retry"
)

// listRow is a job as the read statements return it.
type listRow struct {
	ID          int64
	TaskID      int64
	Share       string
	ShapeID     int32
	State       string
	Priority    int
	Attempt     int
	MaxAttempts int
	Idx         int64
	Inputs      []string
	RetryOf     int64
	CreatedAt   time.Time
	EndedAt     *time.Time
	Queue       string
	Pilot       string
	TryAt       *time.Time
}

func (d *Dispatcher) jobRow(r listRow) JobRow {
	j := JobRow{ID: r.ID, Task: r.TaskID, Share: r.Share, State: r.State, Priority: r.Priority, Attempt: r.Attempt,
		MaxAttempts: r.MaxAttempts, Index: r.Idx, Inputs: r.Inputs, RetryOf: r.RetryOf, CreatedAt: r.CreatedAt,
		EndedAt: r.EndedAt, Queue: r.Queue, Pilot: r.Pilot, TryAt: r.TryAt}
	if r.State == "ready" {
		j.Reason = d.unrunnable(r.ShapeID, r.Share)
	}
	return j
}

// unrunnable says why no queue can run jobs of a shape for a share; empty when one can.
func (d *Dispatcher) unrunnable(id int32, share string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	sh := d.state.shapes[id]
	if sh == nil {
		return ""
	}
	for i, ok := range sh.queues {
		if ok && sh.asks == nil && d.state.version.Queues[i].Runs(share) {
			return ""
		}
	}
	return job.Nowhere(d.state.version, sh.full, share)
}

// Jobs lists jobs of all tasks, live and ended, by ascending id; TaskJobs those of one.
func (d *Dispatcher) Jobs(ctx context.Context, f JobFilter) ([]JobRow, error) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	args := pgx.StrictNamedArgs{"state": f.State, "after": f.After, "n": limit}
	rows, err := collect[listRow](ctx, d.cfg.Pool, "list_jobs", args)
	if err != nil {
		return nil, err
	}
	jobs := make([]JobRow, len(rows))
	for i, r := range rows {
		jobs[i] = d.jobRow(r)
	}
	return jobs, nil
}

// attemptRow is an attempt, running or ended.
type attemptRow struct {
	Attempt   int
	Queue     string
	Pilot     string
	Node      string
	State     string
	ClaimedAt time.Time
	StartedAt *time.Time
	EndedAt   *time.Time
	ExitCode  *int
	Message   string
	CPUS      float64
	MemoryMB  int64
	Outputs   map[string]any
	Report    map[string]any
	Judged    string
	Ending    string
}

// meaning is what the codes of an attempt say.
func (a *attemptRow) meaning(p *retry.Policy) string {
	if a.EndedAt == nil || a.State == string(Finished) {
		return ""
	}
	var codes retry.Codes
	if p != nil {
		codes = p.Codes
	}
	return codes.Explain(&retry.Failure{ExitCode: a.ExitCode, Report: a.Report})
}

// Job returns one job with its attempts, or ErrNoJob.
func (d *Dispatcher) Job(ctx context.Context, id int64) (JobRow, error) {
	type oneRow struct {
		listRow
		HalfOf     int64
		FirstEvent *int64
		Events     int64
	}
	rows, err := collect[oneRow](ctx, d.cfg.Pool, "get_job", pgx.StrictNamedArgs{"job": id})
	if err != nil {
		return JobRow{}, err
	}
	if len(rows) == 0 {
		return JobRow{}, fmt.Errorf("%w: %d", ErrNoJob, id)
	}
	job := d.jobRow(rows[0].listRow)
	job.HalfOf, job.FirstEvent, job.Events = rows[0].HalfOf, rows[0].FirstEvent, rows[0].Events
	attempts, err := collect[attemptRow](ctx, d.cfg.Pool, "list_attempts", pgx.StrictNamedArgs{"job": id})
	if err != nil {
		return JobRow{}, err
	}
	policy := d.attempts.Load()
	for i, a := range attempts {
		if last := i == len(attempts)-1; last && (job.State == "waiting" && job.TryAt != nil || job.State == "failed") {
			job.Reason = a.Judged
		}
		job.Attempts = append(job.Attempts, Attempt{Attempt: a.Attempt, Queue: a.Queue, Pilot: a.Pilot, Node: a.Node,
			State: a.State, ClaimedAt: a.ClaimedAt, StartedAt: a.StartedAt, EndedAt: a.EndedAt, ExitCode: a.ExitCode,
			Message: a.Message, Meaning: a.meaning(policy), Judged: a.Judged, Ending: a.Ending, Usage: Usage{CPUSeconds: a.CPUS, MemoryMB: a.MemoryMB}, Outputs: a.Outputs, Report: a.Report})
	}
	return job, nil
}

// KillJob ends a job that nobody wants any more; ErrNoJob when no live job has that id.
func (d *Dispatcher) KillJob(ctx context.Context, id int64) error {
	killed, err := d.KillJobs(ctx, []int64{id})
	if err == nil && len(killed) == 0 {
		err = fmt.Errorf("%w: no live job %d", ErrNoJob, id)
	}
	return err
}
