package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// ErrNoTask is the answer about a task that does not exist.
var ErrNoTask = errors.New("no such task")

// taskFacts are what tables have of a task that is explained.
type taskFacts struct {
	explain.TaskSubject
	UserName string
	ShareID  shares.ShareID
	First    *int64 // job
	// Pieces of other tasks of the share that become jobs before its own, by shape; 0 where that is not known.
	AheadShapes []int32
	AheadPieces []int64
}

// kindRow is jobs of a task that are alike.
type kindRow struct {
	ShareID shares.ShareID
	ShapeID int32
	Jobs    int64
	ToCome  int64
}

func (r *Reads) kinds(ctx context.Context, task int64) ([]kindRow, error) {
	return pg.Collect[kindRow](ctx, r.d.cfg.Pool, query["kinds"], pg.Args{"task": task, "most": explain.MostCounted})
}

// ExplainTask says why no more of a task runs: what it waits for, or what keeps the job that is to start next, or a piece of it where none is
// a job yet. ErrNoTask when no task has the id.
func (r *Reads) ExplainTask(ctx context.Context, task int64) (e explain.TaskExplanation, err error) {
	t, err := r.taskSubject(ctx, task)
	if err == nil {
		err = r.around(ctx, func(m explain.Moment) { e = m.Task(*t) })
	}
	return e, pg.Named("explain", err)
}

func (r *Reads) taskSubject(ctx context.Context, task int64) (*explain.TaskSubject, error) {
	rows, err := pg.CollectTo(ctx, pgx.RowToStructByNameLax[taskFacts], r.d.cfg.Pool, query["task"], pg.Args{"task": task, "most": explain.MostCounted})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: %d", ErrNoTask, task)
	}
	f, t := &rows[0], &rows[0].TaskSubject
	for i, shape := range f.AheadShapes {
		t.Ahead = append(t.Ahead, explain.PiecesAhead{Shape: shape, Pieces: f.AheadPieces[i]})
	}
	switch {
	case f.Over:
	case f.First != nil:
		t.Next, err = r.subject(ctx, *f.First)
	case f.ToCome > 0 && f.ShareID != 0:
		var kinds []kindRow
		if kinds, err = r.kinds(ctx, task); err == nil && len(kinds) > 0 {
			t.Piece = &explain.Subject{Task: task, Share: f.ShareID, Path: f.Share, Shape: kinds[0].ShapeID, User: f.UserName}
		}
	}
	return t, err
}

// KindQueues is where jobs of a task with the same requirements may run.
type KindQueues struct {
	Share  string           `json:"share" doc:"The share that pays."`
	Needs  job.Requirements `json:"needs"`
	Jobs   int64            `json:"jobs" doc:"Live jobs of this kind, among the first 10000 of the task."`
	ToCome int64            `json:"to_come" doc:"Pieces of the task that will become such jobs, or, where it may choose between sizes, those of another size."`
	Queues []QueueFit       `json:"queues" doc:"Every queue of the site, in file order."`
}

// QueueFit says whether a queue may run jobs of a kind.
type QueueFit struct {
	Queue  string            `json:"queue"`
	Pool   string            `json:"pool"`
	State  shares.QueueState `json:"state" enum:"online,drain,offline,test"`
	Runs   bool              `json:"runs" doc:"It may run them; a slot with labels of its own may where the queue alone may not."`
	Reason string            `json:"reason,omitempty" doc:"Why it does not: the first filter that excludes it."`
	Remote bool              `json:"remote,omitempty" doc:"It runs them, but after others for a time: they prefer a queue near their inputs."`
	Pilots int               `json:"pilots" doc:"Pilots that pulled here in the last five minutes."`
}

// TaskQueues says where the jobs of a task may run, and which filter excludes which queue: one answer for each kind of jobs that it has or will
// have. None: it is over, or nothing of it is a job yet.
func (r *Reads) TaskQueues(ctx context.Context, task int64) ([]KindQueues, error) {
	rows, err := r.kinds(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("queues of a task: %w", err)
	}
	needs, site := make([]job.Requirements, len(rows)), r.lately.site()
	if err = r.see(ctx, explain.Moment{}, func(m explain.Moment) {
		for i, k := range rows {
			needs[i], _ = m.View.Shape(k.ShapeID) // a shape is said before the jobs that have it
		}
	}); err == nil && site == nil {
		err = ErrUnavailable
	}
	if err != nil {
		return nil, fmt.Errorf("queues of a task: %w", err)
	}
	out := make([]KindQueues, len(rows))
	for i, k := range rows {
		out[i] = KindQueues{Share: pathOf(site.Tree, k.ShareID), Needs: needs[i], Jobs: k.Jobs, ToCome: k.ToCome, Queues: make([]QueueFit, len(site.Queues))}
		for n, q := range site.Queues {
			out[i].Queues[n] = fitAt(out[i].Needs, q, out[i].Share)
			out[i].Queues[n].Pilots, _ = r.lately.PullsAt(q.ID)
		}
	}
	return out, nil
}

func fitAt(need job.Requirements, q shares.Queue, share string) QueueFit {
	f := QueueFit{Queue: q.Name, Pool: q.Pool, State: q.State, Reason: cmp.Or(job.Fits(need, q, q.Labels), job.ClosedTo(q, share))}
	f.Runs = f.Reason == ""
	f.Remote = f.Runs && need.Locality == job.LocalityPreferred && !job.Local(need.Locations, q)
	return f
}
