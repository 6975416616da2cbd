package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

type whyInput struct {
	A     string `query:"a" required:"true" doc:"Path of a share; it need not be a leaf."`
	B     string `query:"b" required:"true" doc:"Path of another share, neither above nor below the first."`
	Last  int    `query:"last" minimum:"1" maximum:"100000" default:"10000" doc:"How many recorded decisions to look at, at the most; the newest count."`
	Since string `query:"since" default:"1h" doc:"How far back to look: 90m, 24h, 7d."`
}

func (s *jobCalls) explainRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "explain-job", Method: http.MethodGet, Path: "/v1/jobs/{id}/explain", Tags: []string{"jobs"}, Summary: "Explain why a job waits, or why it was given its slot",
		Description: "For a waiting job: its share at every level, the first gate that it does not pass at each queue, its position and ETA. " +
			"For a job that runs or has ended: the decision that started it. The leader answers.",
	}, func(ctx context.Context, in *byID) (dispatcher.Explanation, error) {
		if err := mayJob(ctx, s.dispatcher, in.ID); err != nil {
			return dispatcher.Explanation{}, err
		}
		if e, ok := askLead[dispatcher.Explanation](ctx, s.relay, askExplain, in.ID); ok {
			return e, nil
		}
		return s.dispatcher.Explain(ctx, in.ID)
	})
	route(s.doc, huma.Operation{
		OperationID: "explain-task", Method: http.MethodGet, Path: "/v1/tasks/{id}/explain", Tags: []string{"tasks"}, Summary: "Explain why no more of a task runs",
		Description: "What the task waits for; and the gates, position and ETA of its next job, or of its next piece if that is no job yet.",
	}, func(ctx context.Context, in *byID) (dispatcher.TaskExplanation, error) {
		if _, err := s.tasks.Task(ctx, in.ID); err != nil {
			return dispatcher.TaskExplanation{}, err
		}
		if e, ok := askLead[dispatcher.TaskExplanation](ctx, s.relay, askExplainTask, in.ID); ok {
			return e, nil
		}
		return s.dispatcher.ExplainTask(ctx, in.ID)
	})
	route(s.doc, huma.Operation{
		OperationID: "why", Method: http.MethodGet, Path: "/v1/shares/why", Tags: []string{"site"}, Summary: "Explain why one share was served before another",
		Description: "How often each share won in the last recorded decisions, and their state now where their paths part.",
	}, s.why)
}

func (s *jobCalls) why(ctx context.Context, in *whyInput) (dispatcher.Why, error) {
	since, err := shares.ParseDuration(in.Since)
	if err != nil || since <= 0 {
		var f problem.Faults
		f.Add("query.since", "expected a duration such as 90m, 24h or 7d", in.Since)
		return dispatcher.Why{}, f.Problem()
	}
	r := dispatcher.WhyRequest{A: in.A, B: in.B, Last: in.Last, From: time.Duration(since)}
	y, err := s.dispatcher.Why(ctx, r)
	return y, inQuery(err)
}

// inQuery turns a fault of a field into a fault of a query parameter.
func inQuery(err error) error {
	var field *job.FieldError
	if !errors.As(err, &field) {
		return err
	}
	var f problem.Faults
	f.Add("query."+field.Field, "expected "+field.Want, field.Value)
	return f.Problem()
}
