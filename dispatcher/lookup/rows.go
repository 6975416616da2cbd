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
	JobRow
	ShapeID int32
	lastRow
}

// lastRow is the running or the last attempt of a job, or one of those before.
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
	return pg.Collect[jobRow](ctx, r.cfg.DB, query["jobs"], pg.Args{"ids": ids, "whole": whole})
}

// shown makes a list of rows.
func (r *Reader) shown(ctx context.Context, rows []jobRow) ([]JobRow, error) {
	jobs := make([]JobRow, len(rows))
	for i, row := range rows {
		jobs[i] = row.JobRow
		jobs[i].Queue, jobs[i].Pilot = row.lastRow.Queue, row.lastRow.Pilot
	}
	return jobs, r.explain(ctx, rows, jobs)
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

func (row *jobRow) fence() fold.Fence {
	return fold.Fence{Job: row.ID, Attempt: row.LastAttempt, Nonce: row.Nonce}
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
func (a *Attempt) soften(known map[fold.Fence]Soft, of fold.Fence) {
	s, ok := known[of]
	if !ok {
		return
	}
	if s.State != "" {
		a.State = string(s.State)
	}
	a.Usage = s.Usage
}

// Stood is how a job stands, as of the tables.
type Stood struct {
	Task    int64
	State   string
	Attempt int // that it is at, or ended with
}

// Over says whether the job has ended.
func (s Stood) Over() bool { return finals[s.State] != "" }

// Stand is by job how it stands. Those that there are not are left out.
func (r *Reader) Stand(ctx context.Context, jobs []int64) (map[int64]Stood, error) {
	rows, err := r.rows(ctx, jobs, false)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]Stood, len(rows))
	for _, row := range rows {
		by[row.ID] = Stood{row.Task, row.State, row.Attempt}
	}
	return by, nil
}
