package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// JobCounts are the jobs of a task by state, at most a second old. Total counts pieces that are not jobs yet too,
// and jobs that try a piece again beside the old ones.
type JobCounts struct {
	Total     int64 `json:"total"`
	Waiting   int64 `json:"waiting"`
	Ready     int64 `json:"ready"`
	Leased    int64 `json:"leased" doc:"A pilot has them; their leases are granted, starting, running or draining."`
	Finished  int64 `json:"finished"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Task is a task as people see it.
type Task struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	User        string    `json:"user"`
	Share       string    `json:"share" doc:"Path; empty while no rule has matched."`
	JobShare    string    `json:"job_share,omitempty" doc:"Share of the jobs, where a rule on a job attribute sends them elsewhere."`
	State       string    `json:"state" enum:"submitting,waiting,ready,scouting,running,paused,throttled,exhausted,finishing,done,finished,failed,aborting,aborted"`
	Jobs        JobCounts `json:"jobs"`
	Pieces      int64     `json:"pieces" doc:"Pieces that the work falls into; 0 until the commit of a streamed task."`
	Inputs      int64     `json:"inputs,omitempty" doc:"Inputs stored: the offset to stream on from."`
	Priority    int       `json:"priority"`
	MaxAttempts int       `json:"max_attempts"`
	Reason      string    `json:"reason,omitempty" doc:"Why it waits, or why it was ended."`
	CannotRun   string    `json:"cannot_run,omitempty" doc:"Why no queue of the site can run its jobs, or those of one of its roles, while a pilot has none of them."`
	Tagging
	Times
	Detail
	Deadline   *DeadlineState  `json:"deadline,omitempty"`
	Needs      []NeedState     `json:"needs,omitempty" doc:"Tasks that it needs, and how far that is; only in GET /v1/tasks/{id}."`
	NeededBy   []int64         `json:"needed_by,omitempty" doc:"Tasks that need it, the first hundred; only in GET /v1/tasks/{id}."`
	Parameters json.RawMessage `json:"parameters,omitempty" doc:"What it was submitted as, where that was not a Spec: PanDA's task parameters, all of them; only in GET /v1/tasks/{id}."`
}

// Tagging is what gave a task its share.
type Tagging struct {
	Attributes  map[string]string `json:"attributes" doc:"What tagging rules see."`
	TaggedBy    TaggedBy          `json:"tagged_by"`
	SiteVersion int64             `json:"site_version" doc:"Version of the site whose rules gave the share."`
}

// Times are those of the life of a task.
type Times struct {
	CreatedAt   time.Time  `json:"created_at"`
	CommittedAt *time.Time `json:"committed_at,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty" doc:"First lease."`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// Detail is what only the answer about one task has.
type Detail struct {
	Spec    *spec.Spec     `json:"spec,omitempty" doc:"As submitted, with defaults, without inputs; only in GET /v1/tasks/{id}."`
	Scaled  []spec.Scaling `json:"scaled,omitempty" doc:"Numbers of groups and roles that divvy task scale changed since it was submitted; only in GET /v1/tasks/{id}."`
	Scouts  int            `json:"scouts,omitempty" doc:"So many jobs are made first and measured; only in GET /v1/tasks/{id}."`
	Scouted *Scouted       `json:"scouted,omitempty" doc:"What the scouts measured, once they are over; only in GET /v1/tasks/{id}."`
}

// Filter selects tasks for a list. Zero fields select nothing away.
type Filter struct {
	User  string
	State []string // one of these; none = any
	Share string   // this share and all below it
	Label string
	// Newest has those that are not over first, each half the newest first; else they come by rising id.
	Newest bool
	After  int64 // the cursor: ids above this one; with Newest the next of a page before
	Limit  int   // 1 … 1000; 0 = 100
}

// taskRow is a task with its share's path.
type taskRow struct {
	ID          int64
	Name        string
	UserName    string
	Share       string
	JobShare    string
	State       string
	NPieces     int64
	NInputs     int64
	Priority    int
	MaxAttempts int
	Reason      string
	Asks        *spec.Spec // of lists: the spec of a task without a leased job, for CannotRun
	Deadline    *DeadlineState
	Needs       []NeedState
	NeededBy    []int64
	Parameters  json.RawMessage
	taskCounts
	Tagging
	Times
	Detail
}

// taskCounts are the jobs of a row.
type taskCounts struct {
	NJobs      int64
	NWaiting   int64
	NReady     int64
	NLeased    int64
	NFinished  int64
	NFailed    int64
	NCancelled int64
}

func (r taskRow) task() Task {
	return Task{
		ID: r.ID, Name: r.Name, User: r.UserName, Share: r.Share, JobShare: r.JobShare, State: r.State,
		Jobs: JobCounts{Total: r.NJobs, Waiting: r.NWaiting, Ready: r.NReady, Leased: r.NLeased, Finished: r.NFinished,
			Failed: r.NFailed, Cancelled: r.NCancelled},
		Pieces: r.NPieces, Inputs: r.NInputs, Priority: r.Priority, MaxAttempts: r.MaxAttempts, Reason: r.Reason,
		Tagging: r.Tagging, Times: r.Times, Detail: r.Detail, Deadline: r.Deadline, Needs: r.Needs, NeededBy: r.NeededBy,
		Parameters: r.Parameters,
	}
}

// Task returns one task with its Spec. Error: ErrNoTask.
func (rd *Reader) Task(ctx context.Context, id int64) (Task, error) {
	row, err := pg.RowTo(ctx, pgx.RowToStructByNameLax[taskRow], rd.pool, query["task"], pgx.StrictNamedArgs{"task": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Task{}, fmt.Errorf("task %d: %w", id, ErrNoTask)
	}
	if err != nil {
		return Task{}, fmt.Errorf("task: %w", err)
	}
	t := row.task()
	one := []Task{t}
	rd.sayCannotRun(ctx, one, []*spec.Spec{t.Spec})
	return one[0], nil
}

// Tasks lists tasks by rising id, or the Newest first. next is the After of the next page, 0 when this is the last one.
func (rd *Reader) Tasks(ctx context.Context, f Filter) (tasks []Task, next int64, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	limit = min(max(limit, 1), 1000)
	if f.Newest {
		return rd.newest(ctx, f, limit)
	}
	all, err := pg.CollectTo(ctx, pgx.RowToStructByNameLax[taskRow], rd.pool, query["tasks"], pgx.StrictNamedArgs{
		"user": f.User, "states": append([]string{}, f.State...), "share": f.Share, "label": f.Label, "after": f.After, "limit": limit + 1})
	if err != nil {
		return nil, 0, fmt.Errorf("tasks: %w", err)
	}
	if len(all) > limit {
		all, next = all[:limit], all[limit-1].ID
	}
	if tasks = rd.tasksOf(ctx, all); len(tasks) == 0 {
		err = rd.KnownShare(ctx, f.Share)
	}
	return tasks, next, err
}
