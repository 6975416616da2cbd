package lookup

import (
	"context"
	"fmt"
	"maps"
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
	row := rows[0]
	jobs, err := r.shown(ctx, rows)
	if err != nil {
		return JobRow{}, err
	}
	j := jobs[0]
	if row.NEvents > 0 {
		first := int64(0)
		if row.FirstEvent != nil {
			first = *row.FirstEvent
		}
		j.FirstEvent, j.Events = &first, row.NEvents
	}
	if row.HalfOf != nil {
		j.HalfOf = *row.HalfOf
	}
	if j.Attempts, err = r.attempts(ctx, row); err != nil {
		return JobRow{}, err
	}
	if n := len(j.Attempts); n > 0 && (j.State == waiting && j.TryAt != nil || j.State == failed) {
		j.Reason = j.Attempts[n-1].Judged
	}
	return j, nil
}

// attemptRow is an attempt that ended.
type attemptRow struct {
	Attempt      int32
	Queue        string
	Pilot        string
	Node         string
	Outcome      string
	GrantedAt    time.Time
	StartDelayMS int32
	EndedAt      time.Time
	ExitCode     int
	CPUMS        int64 `db:"cpu_ms"`
	MemoryMB     int64
	Message      string
	Outputs      map[string]any
	Report       map[string]any
	Judged       string
}

// attempts are those of a job, the running one last.
func (r *Reader) attempts(ctx context.Context, row jobRow) ([]Attempt, error) {
	if row.LastAttempt == 0 {
		return nil, nil
	}
	var all []Attempt
	if row.State != leased || row.LastAttempt > 1 {
		ended, err := collect[attemptRow](ctx, r, "attempts", pg.Args{"job": row.ID})
		if err != nil {
			return nil, err
		}
		codes := r.codes()
		for _, e := range ended {
			if row.State == leased && e.Attempt >= row.LastAttempt {
				break // it ended since the job was looked up
			}
			all = append(all, e.shown(codes))
		}
	}
	if row.State != leased {
		return all, nil
	}
	running := row.lastRow.shown()
	fence := row.fence(row.ID)
	s, ok := r.soft(ctx, []fold.Fence{fence})[fence]
	running.soften(s, ok)
	reports, err := r.reports(ctx, []fold.Fence{fence})
	running.Report = reports[row.ID]
	return append(all, running), err
}

// reports are what pilots reported of attempts that run, by job.
func (r *Reader) reports(ctx context.Context, leases []fold.Fence) (map[int64]map[string]any, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	jobs, attempts := make([]int64, len(leases)), make([]int32, len(leases))
	for i, l := range leases {
		jobs[i], attempts[i] = l.Job, l.Attempt
	}
	type row struct {
		JobID   int64
		Attempt int32
		Report  map[string]any
	}
	rows, err := collect[row](ctx, r, "reports", pg.Args{"jobs": jobs, "attempts": attempts})
	found := make(map[int64]map[string]any, len(rows))
	for _, each := range rows {
		found[each.JobID] = each.Report
	}
	return found, err
}

// codes are what the site says of codes.
func (r *Reader) codes() (codes retry.Codes) {
	if site := r.site(); site != nil && site.Attempts != nil {
		codes = site.Attempts.Codes
	}
	return codes
}

func (e attemptRow) shown(codes retry.Codes) Attempt {
	last := lastRow{LastAttempt: e.Attempt, Queue: e.Queue, Pilot: e.Pilot, Node: e.Node, Outcome: e.Outcome, GrantedAt: &e.GrantedAt,
		StartDelayMS: e.StartDelayMS, LastEndedAt: &e.EndedAt, ExitCode: e.ExitCode, CPUMS: e.CPUMS, MemoryMB: e.MemoryMB}
	a := last.shown()
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
	jobs, err := r.shown(ctx, rows)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts(ctx, rows)
	if err != nil {
		return nil, err
	}
	var running []fold.Fence
	for _, row := range rows {
		if row.State == leased {
			running = append(running, row.fence(row.ID))
		}
	}
	known := r.soft(ctx, running)
	reports, err := r.reports(ctx, running)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if row.LastAttempt == 0 {
			continue
		}
		a := row.lastRow.shown()
		s, ok := known[row.fence(row.ID)]
		a.soften(s, ok)
		if row.State == leased {
			a.Report = reports[row.ID]
		}
		if a.Report["metaData"] != nil {
			a.Report = maps.Clone(a.Report)
			delete(a.Report, "metaData")
		}
		if t, ok := texts[row.ID]; ok {
			a.Message, a.Outputs, a.Report = t.Message, t.Outputs, t.Report
		}
		jobs[i].Attempts = []Attempt{a}
	}
	return jobs, nil
}

// text is what was said of an attempt that ended.
type text struct {
	JobID   int64
	Attempt int32
	Message string
	Outputs map[string]any
	Report  map[string]any
}

// texts are by job what was said of last attempts that ended.
func (r *Reader) texts(ctx context.Context, rows []jobRow) (map[int64]text, error) {
	var (
		jobs     []int64
		attempts []int32
		ends     []time.Time
	)
	for _, row := range rows {
		if row.LastEndedAt != nil {
			jobs, attempts, ends = append(jobs, row.ID), append(attempts, row.LastAttempt), append(ends, *row.LastEndedAt)
		}
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	found, err := collect[text](ctx, r, "texts", pg.Args{"jobs": jobs, "attempts": attempts, "ends": ends})
	if err != nil {
		return nil, err
	}
	by := make(map[int64]text, len(found))
	for _, t := range found {
		by[t.JobID] = t
	}
	return by, nil
}

// JobLog returns the end of what an attempt wrote; attempt 0 is the last one that ended, or has brought its log. Where both
// the payload and its pilot said something, the pilot's part is below the line "--- pilot". ErrNoAttempt when there is none,
// ErrNoJob when there is no job.
func (r *Reader) JobLog(ctx context.Context, id int64, attempt int) (string, error) {
	type logs struct{ Payload, Pilot string }
	found, err := collect[logs](ctx, r, "log", pg.Args{"job": id, "attempt": attempt})
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
