package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/dispatcher"
)

type claimsInput struct {
	Cursor
	Task     int64  `query:"task" minimum:"1" doc:"Only claims of this task."`
	State    string `query:"state" enum:"pending,bound,draining,released" doc:"Only claims in this state; absent = all that are not released."`
	Node     string `query:"node" doc:"Only claims that are bound at this node."`
	Resource string `query:"resource" doc:"Only claims that take units of this resource, with its key in a keyed family."`
}

type claimInput struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of the claim."`
}

func (s *server) claimRoutes() {
	tags := []string{"resources"}
	route(s, huma.Operation{
		OperationID: "list-claims", Method: http.MethodGet, Path: "/v1/resource-claims", Tags: tags, Summary: "List resource claims",
		Description: "What several jobs of a task hold together: units, a node, devices of it. In the order of their ids; those that are released only by their state.",
	}, func(ctx context.Context, in *claimsInput) (Page[dispatcher.ClaimStanding], error) {
		after, err := in.afterID()
		if err != nil {
			return Page[dispatcher.ClaimStanding]{}, err
		}
		claims, err := s.dispatcher.Claims(ctx, dispatcher.ClaimFilter{Task: in.Task, State: in.State, Node: in.Node, Resource: in.Resource,
			After: after, Limit: in.Limit})
		return page(claims, in.Limit, func(c dispatcher.ClaimStanding) int64 { return c.ID }), err
	})
	route(s, huma.Operation{
		OperationID: "get-claim", Method: http.MethodGet, Path: "/v1/resource-claims/{id}", Tags: tags, Summary: "Show a resource claim with the jobs that hold it and that wait",
	}, func(ctx context.Context, in *claimInput) (dispatcher.ClaimStanding, error) {
		return s.dispatcher.Claim(ctx, in.ID)
	})
}
