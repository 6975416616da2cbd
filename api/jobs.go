package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

// byID is the path parameter of a task or a job.
type byID struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of the task or job."`
}

type jobsInput struct {
	Cursor
	Task  int64  `query:"task" minimum:"1" doc:"Only jobs of this task."`
	User  string `query:"user" doc:"Only jobs of this user's tasks."`
	Share string `query:"share" doc:"Only jobs of this share or one below it."`
	Queue string `query:"queue" doc:"Only jobs leased at this queue; with the state of an ended job, only jobs whose last attempt ran there."`
	State string `query:"state" enum:"waiting,ready,leased,finished,failed,cancelled" doc:"Only jobs in this state."`

	EndedAfter  time.Time `query:"ended_after" doc:"Beside a task: only jobs that ended after this time, in the state, or in any final one."`
	LastAttempt bool      `query:"last_attempt" doc:"Beside a task: each job with its running or last attempt: exit code, message, outputs. Then limit is at most 200."`
}

// mostWithAttempt bounds a page of jobs with attempts: each of them may have 64 KiB of outputs.
const mostWithAttempt = 200

type jobLogInput struct {
	ID      int64 `path:"id" minimum:"1" doc:"Id of the job."` // not by embedding byID: huma ignores unexported fields
	Attempt int   `query:"attempt" minimum:"1" maximum:"2147483647" doc:"Which attempt; the last one when absent."`
}

// jobCalls serves jobs, and the explanations of why they wait.
type jobCalls struct {
	doc        *document
	names      *names
	dispatcher Dispatcher
	tasks      Tasks
	relay      *Relay
	outputs    outputs
}

func (s *jobCalls) jobRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Tags: []string{"jobs"}, Summary: "List jobs",
		Description: "Live and ended jobs, ordered by id. Those of a user, share or queue that are not leased are listed task by task, the newest task that is not over first; " +
			"a share has the tasks that are in it now. Such a page may be short or empty and still have a next, since one request looks at a few thousand jobs at the most. " +
			"Beside a task no user, share or queue is allowed. Programs that follow a task ask for ended_after the latest end that they saw.",
	}, s.listJobs)
	route(s.doc, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}", Tags: []string{"jobs"}, Summary: "Show a job with its attempts",
	}, func(ctx context.Context, in *byID) (dispatcher.JobRow, error) { return s.dispatcher.Job(ctx, in.ID) })
	route(s.doc, huma.Operation{
		OperationID: "get-job-log", Method: http.MethodGet, Path: "/v1/jobs/{id}/log", Tags: []string{"jobs"}, Summary: "Show the end of an attempt's output",
	}, func(ctx context.Context, in *jobLogInput) (wire.Log, error) {
		tail, err := s.dispatcher.JobLog(ctx, in.ID, in.Attempt)
		return wire.Log{Job: in.ID, Attempt: in.Attempt, Tail: tail}, err
	})
	route(s.doc, huma.Operation{
		OperationID: "kill-job", Method: http.MethodPost, Path: "/v1/jobs/{id}/kill", Tags: []string{"jobs"}, Summary: "Cancel a job",
		Description: "A waiting or ready job is cancelled at once; a leased one gets SIGTERM through its pilot's next renew. An ended job stays as it is.",
	}, s.killJob)
}

func (s *jobCalls) listJobs(ctx context.Context, in *jobsInput) (wire.Page[dispatcher.JobRow], error) {
	one, some := in.Task > 0, in.User != "" || in.Share != "" || in.Queue != ""
	if err := in.checkEnds(); err != nil {
		return wire.Page[dispatcher.JobRow]{}, err
	}
	switch {
	case one && some:
		var f problem.Faults
		f.Add("query.task", "expected no user, share or queue beside a task", in.Task)
		return wire.Page[dispatcher.JobRow]{}, f.Problem()
	case some:
		return s.someJobs(ctx, in)
	}
	after, err := in.afterID()
	if err != nil {
		return wire.Page[dispatcher.JobRow]{}, err
	}
	if one {
		return s.taskJobs(ctx, dispatcher.JobFilter{Task: in.Task, State: in.State, After: after, Limit: in.Limit, EndedAfter: in.EndedAfter, Last: in.LastAttempt})
	}
	jobs, err := s.dispatcher.Jobs(ctx, dispatcher.JobFilter{State: in.State, After: after, Limit: in.Limit})
	return page(jobs, in.Limit, func(j dispatcher.JobRow) int64 { return j.ID }), err
}

// checkEnds refuses questions about ends and attempts that only a task has.
func (in *jobsInput) checkEnds() error {
	var f problem.Faults
	if !in.EndedAfter.IsZero() {
		switch {
		case in.Task == 0:
			f.Add("query.ended_after", "expected a task beside it", in.EndedAfter)
		case slices.Contains([]string{"waiting", "ready", "leased"}, in.State):
			f.Add("query.state", "expected finished, failed, cancelled or none beside ended_after", in.State)
		}
	}
	if in.LastAttempt {
		switch {
		case in.Task == 0:
			f.Add("query.last_attempt", "expected a task beside it", in.LastAttempt)
		case in.Limit > mostWithAttempt:
			f.Add("query.limit", fmt.Sprintf("expected at most %d beside last_attempt", mostWithAttempt), in.Limit)
		}
	}
	return f.Problem()
}

// someJobs lists the jobs of a user, a share or a queue. For an unknown name it returns an error, not an empty list.
func (s *jobCalls) someJobs(ctx context.Context, in *jobsInput) (p wire.Page[dispatcher.JobRow], err error) {
	if in.State == "leased" || in.State == "" && in.Queue != "" {
		p, err = s.leasedJobs(ctx, in)
	} else {
		p, err = s.chosenJobs(ctx, in)
	}
	if err == nil && len(p.Items) == 0 && p.Next == "" {
		if err = cmp.Or(s.dispatcher.Loaded(ctx), s.names.knownShare(in.Share)); err == nil && in.Queue != "" {
			_, err = s.names.queueIn(s.dispatcher.Queues(), in.Queue)
		}
	}
	return p, err
}

func (s *jobCalls) taskJobs(ctx context.Context, f dispatcher.JobFilter) (wire.Page[dispatcher.JobRow], error) {
	jobs, next, err := s.dispatcher.TaskJobs(ctx, f)
	p := wire.Page[dispatcher.JobRow]{Items: edge.List(jobs)}
	if next > 0 {
		p.Next = strconv.FormatInt(next, 10)
	}
	if err == nil && len(p.Items) == 0 && next == 0 { // tells a task without such jobs from an unknown task
		_, err = s.tasks.Task(ctx, f.Task)
	}
	return p, err
}

// killJob succeeds for a job that has ended already: the caller has what it wanted.
func (s *jobCalls) killJob(ctx context.Context, in *byID) (wire.Killed, error) {
	state, killErr := s.dispatcher.KillJob(ctx, in.ID)
	if !errors.Is(killErr, lookup.ErrNoJob) {
		return wire.Killed{Job: in.ID, State: state}, killErr
	}
	job, err := s.dispatcher.Job(ctx, in.ID)
	switch {
	case err != nil:
		return wire.Killed{}, err
	case job.EndedAt == nil:
		return wire.Killed{}, killErr
	}
	return wire.Killed{Job: in.ID, State: job.State}, nil
}

// afterID reads the cursor of a list that is ordered by id.
func (c Cursor) afterID() (int64, error) { return c.cursor(false) }

// cursor reads the cursor. A list in two halves has negative cursors in its second half.
func (c Cursor) cursor(halves bool) (int64, error) {
	if c.After == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(c.After, 10, 64)
	if err != nil || id < 0 && !halves || id == math.MinInt64 {
		var f problem.Faults
		f.Add("query.after", "expected the next of the previous page", c.After)
		return 0, f.Problem()
	}
	return id, nil
}

// page makes a page. A full page has a next, though the page after it may turn out empty.
func page[T any](items []T, limit int, id func(T) int64) wire.Page[T] {
	p := wire.Page[T]{Items: edge.List(items)}
	if n := len(items); n > 0 && n >= limit {
		p.Next = strconv.FormatInt(id(items[n-1]), 10)
	}
	return p
}
