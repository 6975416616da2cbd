package lookup

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// jobRow is a job as the statement jobs returns it.
type jobRow struct {
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
	FirstEvent  *int64
	NEvents     int64
	RetryOf     int64
	HalfOf      *int64
	MadeAt      time.Time
	EndedAt     *time.Time
	TryAt       *time.Time
	lastRow
}

// lastRow is the running or the last attempt of a job.
type lastRow struct {
	LastAttempt  int32 // 0: there is none
	Nonce        int64
	Queue        string
	Pilot        string
	Node         string
	Outcome      string // a letter; empty: it runs
	GrantedAt    *time.Time
	StartDelayMS int32
	LastEndedAt  *time.Time
	ExitCode     int
	CPUMS        int64 `db:"cpu_ms"`
	MemoryMB     int64
	Ending       string
}

// rows looks jobs up, whole or without what only one job alone is shown with.
func (r *Reader) rows(ctx context.Context, ids []int64, whole bool) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect[jobRow](ctx, r, "jobs", pg.Args{"ids": ids, "whole": whole})
}

// shown makes a list of rows.
func (r *Reader) shown(ctx context.Context, rows []jobRow) ([]JobRow, error) {
	jobs := make([]JobRow, len(rows))
	for i, row := range rows {
		jobs[i] = row.shown()
	}
	return jobs, r.explain(ctx, rows, jobs)
}

func (row jobRow) shown() JobRow {
	return JobRow{ID: row.ID, Task: row.TaskID, Share: row.Share, State: row.State, Priority: row.Priority, Attempt: row.Attempt,
		MaxAttempts: row.MaxAttempts, Index: row.Idx, Inputs: row.Inputs, RetryOf: row.RetryOf, CreatedAt: row.MadeAt, EndedAt: row.EndedAt,
		Queue: row.Queue, Pilot: row.Pilot, TryAt: row.TryAt}
}

// explain says of ready jobs that no queue can run them.
func (r *Reader) explain(ctx context.Context, rows []jobRow, jobs []JobRow) error {
	site := r.site()
	if site == nil {
		return nil
	}
	type kind struct {
		shape int32
		share string
	}
	var shapes []int32
	reasons := map[kind]*string{}
	for _, row := range rows {
		if k := (kind{row.ShapeID, row.Share}); row.State == ready && reasons[k] == nil {
			reasons[k], shapes = new(string), append(shapes, row.ShapeID)
		}
	}
	needs, err := r.needsOf(ctx, shapes)
	if err != nil {
		return err
	}
	for k, reason := range reasons {
		if need, ok := needs[k.shape]; ok {
			*reason = job.Nowhere(*site, need, k.share)
		}
	}
	for i, row := range rows {
		if row.State == ready {
			jobs[i].Reason = *reasons[kind{row.ShapeID, row.Share}]
		}
	}
	return nil
}

// The states of jobs.
const (
	waiting   = "waiting"
	ready     = "ready"
	leased    = "leased"
	finished  = "finished"
	failed    = "failed"
	cancelled = "cancelled"
)

// finals are the letters of final states.
var finals = map[string]string{finished: "f", failed: "x", cancelled: "c"}

// outcomes are those of the letters of the log.
var outcomes = map[string]Outcome{"f": Finished, "x": Failed, "l": Lost, "c": Cancelled, "r": Revoked}

func (a *lastRow) fence(job int64) fold.Fence {
	return fold.Fence{Job: job, Attempt: a.LastAttempt, Nonce: a.Nonce}
}

// shown is the attempt without what was said of it.
func (a *lastRow) shown() Attempt {
	out := Attempt{Attempt: int(a.LastAttempt), Queue: a.Queue, Pilot: a.Pilot, Node: a.Node, State: string(outcomes[a.Outcome]),
		ClaimedAt: *a.GrantedAt, EndedAt: a.LastEndedAt, Ending: a.Ending, Usage: Usage{float64(a.CPUMS) / 1000, a.MemoryMB}}
	if a.StartDelayMS >= 0 {
		at := a.GrantedAt.Add(time.Duration(a.StartDelayMS) * time.Millisecond)
		out.StartedAt = &at
	}
	switch {
	case a.Outcome == "" && a.StartDelayMS < 0:
		out.State = string(Granted)
	case a.Outcome == "":
		out.State = string(Running)
	case a.Outcome == "f", a.ExitCode != 0:
		out.ExitCode = &a.ExitCode
	}
	return out
}

// soften adds what is known of a lease beside the tables.
func (a *Attempt) soften(s Soft, ok bool) {
	if !ok {
		return
	}
	if s.State != "" {
		a.State = string(s.State)
	}
	a.Usage = s.Usage
}
