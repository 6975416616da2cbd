package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
)

type submitInput struct {
	Strict bool   `query:"strict" doc:"Refuse a task that no queue of the site can run."`
	Key    string `header:"Idempotency-Key" maxLength:"200" doc:"A repeat with the same key and body gets the same task; with another body it is refused."`
	Body   spec.Spec
}

type specInput struct {
	Body spec.Spec
}

type priorityInput struct {
	ID   int64 `path:"id" minimum:"1" doc:"Id of the task."`
	Body struct {
		Priority int `json:"priority" minimum:"-1000000000" maximum:"1000000000" doc:"Higher goes first within the share."`
	}
}

type scaleInput struct {
	ID   int64 `path:"id" minimum:"1" doc:"Id of the task."`
	Body spec.Scaling
}

type tasksInput struct {
	Cursor
	User  string   `query:"user" doc:"Only tasks of this user."`
	State []string `query:"state" enum:"submitting,waiting,ready,scouting,running,paused,throttled,exhausted,finishing,done,finished,failed,aborting,aborted" doc:"Only tasks in one of these states, separated by commas."`
	Share string   `query:"share" doc:"Only tasks of this share or one below it."`
	Label string   `query:"label" doc:"Only tasks of this label."`
	Order string   `query:"order" enum:"id,newest" default:"id" doc:"id: by rising id. newest: those that are not over first, then the others, each the newest first."`
}

// taskCalls serves tasks and their tags.
type taskCalls struct {
	doc         *document
	names       *names
	tasks       Tasks
	submissions Submissions
	steering    Steering
	site        Site
}

func (s *taskCalls) taskRoutes() {
	tags := []string{"tasks"}
	route(s.doc, huma.Operation{
		OperationID: "submit-task", Method: http.MethodPost, Path: "/v1/tasks", Tags: tags, Summary: "Submit a task", DefaultStatus: http.StatusCreated,
		Description: "A task with inputs_streamed is created submitting and gets its inputs and a commit; any other is published at once. Unknown fields are refused. What no queue can run is accepted, unless strict, and has cannot_run.",
	}, func(ctx context.Context, in *submitInput) (view.Task, error) {
		return s.submissions.Submit(ctx, generator.SubmitRequest{Spec: in.Body, Strict: in.Strict, IdempotencyKey: in.Key})
	})
	route(s.doc, huma.Operation{
		OperationID: "list-tasks", Method: http.MethodGet, Path: "/v1/tasks", Tags: tags, Summary: "List tasks",
		Description: "In the order of their ids, or the newest first. A page of few newest ones among many may be short, or empty, and have a next.",
	}, s.listTasks)
	route(s.doc, huma.Operation{
		OperationID: "get-task", Method: http.MethodGet, Path: "/v1/tasks/{id}", Tags: tags, Summary: "Show a task",
	}, func(ctx context.Context, in *byID) (view.Task, error) { return s.tasks.Task(ctx, in.ID) })
	route(s.doc, huma.Operation{
		OperationID: "commit-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/commit", Tags: tags, Summary: "Publish a submitting task with the inputs that it has",
	}, func(ctx context.Context, in *byID) (view.Task, error) { return s.submissions.Commit(ctx, in.ID) })
	for _, v := range []struct {
		verb    generator.Verb
		summary string
	}{
		{generator.VerbKill, "End a task and its jobs, those that run too"},
		{generator.VerbPause, "Start no more jobs of a task; those that run go on"},
		{generator.VerbResume, "Let a paused task go on"},
		{generator.VerbFinish, "Start no more jobs of a task, and be done when those that run have ended"},
		{generator.VerbAvalanche, "End the scouting of a task now: the rest of its jobs is made by what its scouts measured so far"},
	} {
		route(s.doc, huma.Operation{
			OperationID: string(v.verb) + "-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/" + string(v.verb), Tags: tags, Summary: v.summary,
		}, func(ctx context.Context, in *byID) (generator.Change, error) {
			return s.steering.Say(ctx, v.verb, in.ID, nil)
		})
	}
	route(s.doc, huma.Operation{
		OperationID: "prioritise-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/priority", Tags: tags, Summary: "Give a task and its jobs another priority",
		Description: "Pieces to come, and jobs that wait or are ready. What runs is left alone. A repeat changes nothing.",
	}, func(ctx context.Context, in *priorityInput) (generator.PriorityChange, error) {
		return s.steering.Prioritise(ctx, in.ID, in.Body.Priority)
	})
	route(s.doc, huma.Operation{
		OperationID: "scale-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/scale", Tags: tags, Summary: "Change how many replicas or jobs a task of groups has",
		Description: "Of the task, of a group, or of a role. What there is before and after stays as it is. New jobs are made as others are. Of what there is not any more " +
			"ready jobs are cancelled; running ones go on to their end and are not tried again, and their claims go with them. A repeat changes nothing.",
	}, func(ctx context.Context, in *scaleInput) (groups.ScaleChange, error) {
		return s.steering.Scale(ctx, in.ID, in.Body)
	})
	s.manyTaskRoutes()
	s.describeInputs()
}

func (s *taskCalls) listTasks(ctx context.Context, in *tasksInput) (wire.Page[view.Task], error) {
	newest := in.Order == "newest"
	after, err := in.cursor(newest)
	if err != nil {
		return wire.Page[view.Task]{}, err
	}
	tasks, next, err := s.tasks.Tasks(ctx, view.Filter{
		User: in.User, State: in.State, Share: in.Share, Label: in.Label, Newest: newest, After: after, Limit: in.Limit,
	})
	p := wire.Page[view.Task]{Items: edge.List(tasks)}
	if next != 0 {
		p.Next = strconv.FormatInt(next, 10)
	}
	if err == nil && len(p.Items) == 0 && next == 0 { // not before: an ended task may have a share that no longer exists
		err = s.names.knownShare(in.Share)
	}
	return p, err
}

func (s *taskCalls) tagRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "test-tags", Method: http.MethodPost, Path: "/v1/tags/test", Tags: []string{"tasks"}, Summary: "Explain how a task would be tagged",
		Description: "Rule by rule, with the site in force. Nothing is stored.",
	}, func(ctx context.Context, in *specInput) (tags.TagTest, error) {
		st, err := s.site.Load(ctx)
		if err != nil {
			return tags.TagTest{}, err
		}
		return tags.Test(st, in.Body), nil
	})
}
