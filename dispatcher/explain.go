package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// subject is the job that is explained.
type subject struct {
	ID         int64
	TaskID     int64
	ShareID    shares.ShareID
	Share      string
	ShapeID    int32
	State      string
	Place      int64
	CreatedAt  time.Time
	Inputs     []string
	TaskState  string
	TaskReason string
	UserName   string
	Claims     []int64
	TryAt      *time.Time // of a job that waits after an attempt
	Judged     bool       // until then, and is ready afterwards
	Split      bool       // before that its piece becomes two

	claims []claimOfJob
}

// Explain says why a job waits, or why it was given its slot; ErrNoJob when no job has the id. It costs a handful of
// short reads and, for a job that waits, the lock of the decisions for about as long as Standing; it changes nothing.
func (d *Dispatcher) Explain(ctx context.Context, job int64) (Explanation, error) {
	e, err := d.explain(ctx, job)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return e, nil
}

func (d *Dispatcher) explain(ctx context.Context, job int64) (Explanation, error) {
	rows, err := collect[subject](ctx, d.cfg.Pool, "explain_job", pgx.StrictNamedArgs{"job": job})
	if err != nil {
		return Explanation{}, err
	}
	if len(rows) == 0 {
		return Explanation{}, fmt.Errorf("%w: %d", ErrNoJob, job)
	}
	j := &rows[0]
	e := Explanation{Job: j.ID, Task: j.TaskID, Share: j.Share, State: j.State, At: time.Now().UTC()}
	if err := d.claimsOfJob(ctx, j, &e); err != nil {
		return Explanation{}, err
	}
	if j.State == "ready" || j.State == "waiting" {
		return e, d.explainWait(ctx, j, &e)
	}
	d.mu.Lock()
	e.Version = d.state.version.Number
	d.mu.Unlock()
	if e.Decision, err = d.decisionOf(ctx, j); err != nil {
		return e, err
	}
	e.Summary = decisionSummary(e.Decision, j)
	return e, nil
}

// explainWait is for jobs that wait or are ready. What the daemon knows is taken in one go, so that targets, held units
// and gates are of one moment; the ends are read right before it, the position right after.
func (d *Dispatcher) explainWait(ctx context.Context, j *subject, e *Explanation) error {
	if j.State == "waiting" {
		e.Waits = &TaskWait{TaskState: j.TaskState, Reason: waitsFor(j), Inputs: append([]string{}, j.Inputs...)}
	}
	ends, err := d.endsLately(ctx)
	if err != nil {
		return err
	}
	l := d.lookAt(j, ends, e)
	if j.State == "ready" && l.leaf >= 0 {
		if e.Position, err = d.position(ctx, j, l); err != nil {
			return err
		}
	}
	l.finishGates(e)
	if j.State == "ready" {
		e.ETA = l.estimate(e)
	}
	e.Summary = summary(j, e)
	return nil
}

func waitsFor(j *subject) string {
	switch {
	case j.TryAt != nil && j.Split:
		return "its piece is split, and it is tried again with one half, at " + j.TryAt.UTC().Format(time.RFC3339)
	case j.TryAt != nil && j.Judged:
		return "it is tried again at " + j.TryAt.UTC().Format(time.RFC3339)
	case j.TryAt != nil:
		return "it is about to be judged what becomes of it after its last attempt"
	}
	s := fmt.Sprintf("task %d is %s", j.TaskID, j.TaskState)
	if j.TaskReason != "" {
		s += ": " + j.TaskReason
	}
	return s
}

// What a position costs at the most: jobs that are counted, and rows that are looked at for it. More of these is for jobs that are
// leased already, where other daemons lease too and nobody knows better where the ready ones begin.
const (
	mostCounted = 10_000
	mostLooked  = 20_000
)

// aheadRow counts the jobs of a shape that come before one.
type aheadRow struct {
	ShapeID int32
	Free    int64 // ready
	Looked  int64 // rows that were looked at
}

// position counts the ready jobs of the share that come before this one. Every range of the index begins at the head of
// the window where the daemon knows it: the dead and the leased lie before that.
func (d *Dispatcher) position(ctx context.Context, j *subject, l *look) (*Position, error) {
	rows, err := collect[aheadRow](ctx, d.cfg.Pool, "explain_position", pgx.StrictNamedArgs{"share": int32(j.ShareID),
		"shapes": l.shapes, "places": l.fromPlaces, "ids": l.fromIDs, "place": j.Place, "job": j.ID, "looks": mostLooked})
	if err != nil {
		return nil, fmt.Errorf("position: %w", err)
	}
	var n, looked int64
	for _, r := range rows {
		n, looked = n+r.Free, looked+r.Looked
	}
	l.ahead = rows
	return &Position{Before: min(n, mostCounted), More: n > mostCounted || looked == mostLooked, Ready: max(l.ready, n+1)}, nil
}
