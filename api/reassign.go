package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/generator"
)

type reassignInput struct {
	Body generator.ReassignRequest
}

func (s *taskCalls) reassignRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "reassign-tasks", Method: http.MethodPost, Path: "/v1/tasks/reassign", Tags: []string{"tasks"}, Summary: "Give tasks to another share",
		Description: "Pieces to come, waiting and ready jobs, and where asked for running ones. The answer says of each task what went, what did not and why. " +
			"A repeat changes nothing.",
	}, func(ctx context.Context, in *reassignInput) (generator.Reassigned, error) {
		return s.steering.Reassign(ctx, in.Body)
	})
}
