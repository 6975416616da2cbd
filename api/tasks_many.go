package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

type retryInput struct {
	ID   int64         `path:"id" minimum:"1" doc:"Id of the task."`
	Body *spec.Changes `required:"false"`
}

type actInput struct {
	Body generator.ActRequest
}

type cloneInput struct {
	ID   int64  `path:"id" minimum:"1" doc:"Id of the task."`
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"A repeat with the same key and body gets the same task."`
	Body CloneChanges
}

// CloneChanges are what is other than in the task that is cloned.
type CloneChanges struct {
	Changes json.RawMessage `json:"changes,omitempty" doc:"Part of a task: what it has is other, null is absent, the rest is as it was (RFC 7396)."`
}

// ManyTasks asks for many tasks at once.
type ManyTasks struct {
	Tasks []KeyedTask `json:"tasks" minItems:"1" maxItems:"1000"`
}

// KeyedTask is one of many tasks.
type KeyedTask struct {
	Key  string    `json:"key,omitempty" maxLength:"200" doc:"Idempotency key: a repeat with the same key and task gets the same task."`
	Task spec.Spec `json:"task"`

	Strict bool `json:"strict,omitempty" doc:"Refuse it when no queue of the site can run it."`
}

// ManySubmitted says what became of each, in the order of the request.
type ManySubmitted struct {
	Tasks []OneSubmitted `json:"tasks"`
}

// OneSubmitted is a submitted task, or the problem with it.
type OneSubmitted struct {
	Task    *view.Task    `json:"task,omitempty"`
	Problem *wire.Problem `json:"problem,omitempty"`
}

type manyInput struct {
	Body ManyTasks
}

func (s *taskCalls) manyTaskRoutes() {
	tags := []string{"tasks"}
	route(s.doc, huma.Operation{
		OperationID: "retry-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/retry", Tags: tags,
		Summary:     "Try the failed and cancelled pieces of a task again, as new jobs",
		Description: "With a body, with other requirements, queues, attempts or priority from then on.",
	}, func(ctx context.Context, in *retryInput) (generator.Change, error) {
		return s.steering.Say(ctx, generator.VerbRetry, in.ID, in.Body)
	})
	route(s.doc, huma.Operation{
		OperationID: "act-on-tasks", Method: http.MethodPost, Path: "/v1/tasks/actions", Tags: tags, Summary: "Say one thing to many tasks",
		Description: "To those with the ids, or to all of a user, label, share, state or name. The answer says of each what changed, or why nothing did; a task that " +
			"refuses is no error. Where there is a next, send the same request again with it as after.",
	}, func(ctx context.Context, in *actInput) (generator.Acted, error) { return s.steering.Act(ctx, in.Body) })
	route(s.doc, huma.Operation{
		OperationID: "submit-tasks", Method: http.MethodPost, Path: "/v1/tasks/batch", Tags: tags, Summary: "Submit many tasks at once",
		Description: "In one transaction. A task that cannot be has its problem in the answer, and keeps no other from being.",
	}, s.submitMany)
	route(s.doc, huma.Operation{
		OperationID: "clone-task", Method: http.MethodPost, Path: "/v1/tasks/{id}/clone", Tags: tags, Summary: "Submit a task like another one, with changes",
		DefaultStatus: http.StatusCreated,
		Description:   "As it was submitted, with its inputs unless the changes say how the work is split.",
	}, func(ctx context.Context, in *cloneInput) (view.Task, error) {
		return s.submissions.Clone(ctx, generator.CloneRequest{Task: in.ID, Changes: in.Body.Changes, IdempotencyKey: in.Key})
	})
}

func (s *taskCalls) submitMany(ctx context.Context, in *manyInput) (ManySubmitted, error) {
	requests := make([]generator.SubmitRequest, len(in.Body.Tasks))
	for i, t := range in.Body.Tasks {
		requests[i] = generator.SubmitRequest{Spec: t.Task, Strict: t.Strict, IdempotencyKey: t.Key}
	}
	all, err := s.submissions.SubmitMany(ctx, requests)
	if err != nil {
		return ManySubmitted{}, err
	}
	out := ManySubmitted{Tasks: make([]OneSubmitted, len(all))}
	told := 0
	for i, one := range all {
		if one.Err != nil {
			p := problem.Of(one.Err)
			if p.Errors = p.Errors[:min(len(p.Errors), max(problem.Most-told, 1))]; p.Detail == "" && told >= problem.Most {
				p.Detail = "only the first error is told, since the tasks before have many"
			}
			told += len(p.Errors)
			out.Tasks[i].Problem = p
		} else {
			out.Tasks[i].Task = &one.Task
		}
	}
	return out, nil
}
