package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares/retry"
)

// Job returns one job with its attempts, or ErrNoJob.
func (r *Reader) Job(ctx context.Context, id int64) (JobRow, error) {
	rows, err := r.rows(ctx, []int64{id}, true)
	if err != nil {
		return JobRow{}, err
	}
	if len(rows) == 0 {
		return JobRow{}, fmt.Errorf("%w: %d", ErrNoJob, id)
	}
	jobs, err := r.shown(ctx, rows)
	if err != nil {
		return JobRow{}, err
	}
	j := jobs[0]
	if j.Attempts, err = r.attempts(ctx, &rows[0]); err != nil {
		return JobRow{}, err
	}
	if n := len(j.Attempts); n > 0 && (j.State == waiting && j.TryAt != nil || j.State == failed) {
		j.Reason = j.Attempts[n-1].Judged
	}
	return j, nil
}

// endedRow is an attempt that ended.
type endedRow struct {
	lastRow
	Message string
	Outputs map[string]any
	Report  map[string]any
	Judged  string
}

// attempts are those of a job, the running one last.
func (r *Reader) attempts(ctx context.Context, row *jobRow) (all []Attempt, err error) {
	if row.LastAttempt == 0 {
		return nil, nil
	}
	if row.State != leased || row.LastAttempt > 1 {
		ended, err := pg.Collect[endedRow](ctx, r.cfg.DB, query["attempts"], pg.Args{"job": row.ID})
		if err != nil {
			return nil, err
		}
		codes := r.codes()
		for _, e := range ended {
			if row.State == leased && e.LastAttempt >= row.LastAttempt {
				break // it ended since the job was looked up
			}
			all = append(all, e.shown(codes))
		}
	}
	if row.State != leased {
		return all, nil
	}
	texts, err := r.texts(ctx, []jobRow{*row})
	running := row.lastRow.shown()
	running.soften(r.soft(ctx, []fold.Fence{row.fence()}), row.fence())
	running.Report = texts[row.ID].Report
	return append(all, running), err
}

func (r *Reader) codes() (codes retry.Codes) {
	if site := r.site(); site != nil && site.Attempts != nil {
		codes = site.Attempts.Codes
	}
	return codes
}

func (e *endedRow) shown(codes retry.Codes) Attempt {
	a := e.lastRow.shown()
	a.Message, a.Outputs, a.Report, a.Judged = e.Message, e.Outputs, e.Report, e.Judged
	if a.State != string(Finished) {
		a.Meaning = codes.Explain(&retry.Failure{ExitCode: a.ExitCode, Report: a.Report})
	}
	return a
}

// JobsByID returns the jobs that there are among ids, by rising id. Attempts holds the running or the last attempt only, and its
// report is without metaData.
func (r *Reader) JobsByID(ctx context.Context, ids []int64) ([]JobRow, error) {
	rows, err := r.rows(ctx, slices.Compact(slices.Sorted(slices.Values(ids))), false)
	if err != nil {
		return nil, err
	}
	return r.withLast(ctx, rows)
}

// withLast returns the jobs of rows, each with its running or last attempt.
func (r *Reader) withLast(ctx context.Context, rows []jobRow) ([]JobRow, error) {
	jobs, err := r.shown(ctx, rows)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts(ctx, rows)
	if err != nil {
		return nil, err
	}
	var running []fold.Fence
	for i := range rows {
		if rows[i].State == leased {
			running = append(running, rows[i].fence())
		}
	}
	known := r.soft(ctx, running)
	for i := range rows {
		row := &rows[i]
		if row.LastAttempt == 0 {
			continue
		}
		a, t := row.lastRow.shown(), texts[row.ID]
		a.soften(known, row.fence())
		a.Message, a.Outputs, a.Report = t.Message, t.Outputs, t.Report
		delete(a.Report, "metaData")
		jobs[i].Attempts = []Attempt{a}
	}
	return jobs, nil
}

// text is what was said of an attempt.
type text struct {
	JobID   int64
	Message string
	Outputs map[string]any
	Report  map[string]any
}

// texts are by job what was said of running and of last attempts.
func (r *Reader) texts(ctx context.Context, rows []jobRow) (map[int64]text, error) {
	var (
		jobs     []int64
		attempts []int32
		ends     []*time.Time
	)
	for _, row := range rows {
		if row.LastAttempt > 0 {
			jobs, attempts, ends = append(jobs, row.ID), append(attempts, row.LastAttempt), append(ends, row.LastEndedAt)
		}
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	found, err := pg.Collect[text](ctx, r.cfg.DB, query["texts"], pg.Args{"jobs": jobs, "attempts": attempts, "ends": ends})
	by := make(map[int64]text, len(found))
	for _, t := range found {
		by[t.JobID] = t
	}
	return by, err
}

// JobLog returns the end of what an attempt wrote; attempt 0 is the last one that ended, or has brought its log. Where both
// the payload and its pilot said something, the pilot's part is below the line "--- pilot". ErrNoAttempt when there is none,
// ErrNoJob when there is no job.
func (r *Reader) JobLog(ctx context.Context, id int64, attempt int) (string, error) {
	type logs struct{ Payload, Pilot string }
	found, err := pg.Collect[logs](ctx, r.cfg.DB, query["log"], pg.Args{"job": id, "attempt": attempt})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		j, err := r.Job(ctx, id)
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("%w: job %d is %s", ErrNoAttempt, id, j.State)
	}
	l := found[0]
	if l.Payload == "" || l.Pilot == "" {
		return l.Payload + l.Pilot, nil
	}
	return strings.TrimSuffix(l.Payload, "\n") + "\n--- pilot\n" + l.Pilot, nil
}
