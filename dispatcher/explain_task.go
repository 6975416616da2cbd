package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// taskSubject is the task that is explained.
type taskSubject struct {
	ID       int64
	State    string
	Reason   string
	UserName string
	ShareID  shares.ShareID
	Share    string
	Priority int
	ToCome   int64
	Ready    int64
	Leased   int64
	Over     bool
	First    *int64 // job
	Cut      bool   // of its live jobs not all were looked at
	// Pieces of other tasks of the share that become jobs before its own, by shape; 0 where that is not known.
	AheadShapes []int32
	AheadPieces []int64
	More        bool // and others, that were not counted
}

// unseen says that pilots have all of its jobs that were looked at, and others are ready.
func (t *taskSubject) unseen() bool { return t.First == nil && t.Cut && t.Ready > 0 }

// ExplainTask says why no more of a task runs: what it waits for, or what keeps the job that is to start next, or a piece of it
// where none is a job yet. ErrNoTask when no task has the id. It costs as much as Explain, and changes nothing.
func (d *Dispatcher) ExplainTask(ctx context.Context, task int64) (TaskExplanation, error) {
	rows, err := collect[taskSubject](ctx, d.cfg.Pool, "explain_task", pgx.StrictNamedArgs{"task": task, "most": mostCounted})
	if err != nil {
		return TaskExplanation{}, fmt.Errorf("explain: %w", err)
	}
	if len(rows) == 0 {
		return TaskExplanation{}, fmt.Errorf("%w: %d", ErrNoTask, task)
	}
	t := &rows[0]
	e := TaskExplanation{Task: t.ID, Share: t.Share, State: t.State, At: time.Now().UTC(), ToCome: t.ToCome, Ready: t.Ready, Leased: t.Leased}
	switch {
	case t.Over:
	case t.First != nil:
		e.Next, err = d.nextJob(ctx, *t.First)
	case t.ToCome > 0 && t.ShareID != 0 && !t.unseen():
		e.Next, err = d.explainPiece(ctx, t)
	}
	if err != nil {
		return TaskExplanation{}, fmt.Errorf("explain: %w", err)
	}
	e.Summary = taskExplanationSummary(&e, t)
	return e, nil
}

func (d *Dispatcher) nextJob(ctx context.Context, job int64) (*Explanation, error) {
	e, err := d.explain(ctx, job)
	return &e, err
}

// explainPiece explains a piece as the ready job that it will be; nil where it is not known yet what it needs.
func (d *Dispatcher) explainPiece(ctx context.Context, t *taskSubject) (*Explanation, error) {
	kinds, err := collect[kindRow](ctx, d.cfg.Pool, "task_kinds", pgx.StrictNamedArgs{"task": t.ID, "most": mostKinds})
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	need, err := d.fullNeed(ctx, kinds[0].ShapeID)
	if err != nil {
		return nil, err
	}
	ends, err := d.endsLately(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	const none = math.MaxInt64 // the last of all that there are
	j := &subject{ID: none, TaskID: t.ID, ShareID: t.ShareID, Share: t.Share, ShapeID: kinds[0].ShapeID, State: "ready", CreatedAt: now, UserName: t.UserName}
	e := &Explanation{Job: none, Task: t.ID, Share: t.Share, State: "waiting", At: now}
	l := d.lookAt(j, ends, e)
	e.Position = &Position{}
	if l.leaf >= 0 {
		d.mu.Lock()
		version := d.state.version
		d.mu.Unlock()
		if leaf, ok := version.Tree.ByID(t.ShareID); ok {
			j.Place = version.Tree.Nodes[leaf].Plan.Aging.Place(t.Priority, now)
		}
		if e.Position, err = d.position(ctx, j, l); err != nil {
			return nil, err
		}
	}
	before, err := d.piecesAhead(ctx, t, l)
	if err != nil {
		return nil, err
	}
	p := e.Position
	p.Before, p.More = min(p.Before+before, mostCounted), p.More || t.More || p.Before+before > mostCounted
	l.finishGates(e)
	e.ETA = l.estimate(e)
	e.Summary = summary(j, e)
	if e.Gate == GateStructural {
		e.Summary = d.nowhere(need, t.Share, e.Summary)
	}
	e.Job = 0
	return e, nil
}

// piecesAhead counts the pieces that become jobs before those of a task, and has the mean of what comes before it know their sizes.
func (d *Dispatcher) piecesAhead(ctx context.Context, t *taskSubject, l *look) (n int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	if slices.ContainsFunc(t.AheadShapes, func(id int32) bool { return id != 0 && s.shapes[id] == nil }) {
		if err := s.loadShapes(ctx, d.cfg.Pool); err != nil {
			return 0, err
		}
	}
	for i, id := range t.AheadShapes {
		n += t.AheadPieces[i]
		l.ahead = append(l.ahead, aheadRow{ShapeID: id, Free: t.AheadPieces[i]})
	}
	for _, f := range l.flows {
		if p := s.pools[f.pool]; p != nil {
			maps.Copy(f.sizes, s.sizesIn(p, l.leaf, t.AheadShapes))
		}
	}
	return n, nil
}

// nowhere says why no queue can run jobs, or what else was found.
func (d *Dispatcher) nowhere(need job.Requirements, share, found string) string {
	d.mu.Lock()
	version := d.state.version
	d.mu.Unlock()
	if reason := job.Nowhere(version, need, share); reason != "" {
		return strings.ToUpper(reason[:1]) + reason[1:] + "."
	}
	return found
}

// summary is the answer for a task.
func taskExplanationSummary(e *TaskExplanation, t *taskSubject) string {
	var s string
	switch reason := strings.TrimSuffix(t.Reason, "."); {
	case t.Over:
		s = "It is over: " + t.State + "."
	case t.State == "submitting":
		s = "It gets its inputs, and starts with the commit behind them."
	case t.State == "paused":
		s = fmt.Sprintf("It is paused: divvy task resume %d lets it go on.", t.ID)
	case t.State == "exhausted":
		s = fmt.Sprintf("A scout of it failed: divvy task avalanche %d lets it go on.", t.ID)
	case t.State == "ready", t.State == "scouting", t.State == "running":
	case reason != "":
		s = fmt.Sprintf("It is %s: %s.", t.State, reason)
	default:
		s = fmt.Sprintf("It is %s.", t.State)
	}
	if t.Leased > 0 {
		s += fmt.Sprintf(" Pilots have %d of its jobs.", t.Leased)
	}
	switch {
	case !t.Over && t.unseen():
		s += fmt.Sprintf(" Which of its %d ready jobs is next was not looked up: pilots have the first %d.", t.Ready, mostCounted)
	case e.Next == nil && s == "":
		s = "It has no job that is to start, and no piece to come."
	case e.Next == nil:
	case e.Next.Job == 0 && (s == "" || e.Next.Gate == GateStructural):
		s += fmt.Sprintf(" None of its %d pieces is a job yet. Of such a job: %s", e.ToCome, e.Next.Summary)
	case e.Next.Job != 0:
		s += fmt.Sprintf(" Its next job is %d: %s", e.Next.Job, e.Next.Summary)
	}
	return strings.TrimSpace(s)
}
