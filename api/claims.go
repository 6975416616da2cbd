package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

type claimsInput struct {
	Cursor
	Task     int64  `query:"task" minimum:"1" doc:"Only claims of this task."`
	State    string `query:"state" enum:"pending,bound,draining,released" doc:"Only claims in this state; absent = all that are not released."`
	Node     string `query:"node" doc:"Only claims bound at this node."`
	Resource string `query:"resource" doc:"Only claims that take units of this resource, with its key in a keyed family."`
}

type createClaimInput struct {
	Body dispatcher.OutsideClaim
}

type deleteClaimInput struct {
	Name  string `query:"name" required:"true" maxLength:"200" doc:"Name of the claim."`
	Force bool   `query:"force" doc:"Delete it although jobs hold it: no further job gets it, and it ends with its last holder."`
}

type claimInput struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of the claim."`
}

func (s *resourceCalls) claimRoutes() {
	tags := []string{"resources"}
	route(s.doc, huma.Operation{
		OperationID: "list-claims", Method: http.MethodGet, Path: "/v1/resource-claims", Tags: tags, Summary: "List resource claims",
		Description: "Claims are what several jobs of a task hold together: units, a node, devices of it. Ordered by id; released claims are listed only with that state.",
	}, func(ctx context.Context, in *claimsInput) (wire.Page[dispatcher.ClaimStanding], error) {
		after, err := in.afterID()
		if err != nil {
			return wire.Page[dispatcher.ClaimStanding]{}, err
		}
		claims, err := s.dispatcher.Claims(ctx, dispatcher.ClaimFilter{Task: in.Task, State: in.State, Node: in.Node, Resource: in.Resource,
			After: after, Limit: in.Limit})
		if err == nil && len(claims) == 0 && after == 0 {
			err = s.knownClaimFilter(ctx, in)
		}
		return page(claims, in.Limit, func(c dispatcher.ClaimStanding) int64 { return c.ID }), err
	})
	route(s.doc, huma.Operation{
		OperationID: "get-claim", Method: http.MethodGet, Path: "/v1/resource-claims/{id}", Tags: tags, Summary: "Show a resource claim with the jobs that hold it and that wait",
	}, func(ctx context.Context, in *claimInput) (dispatcher.ClaimStanding, error) {
		return s.dispatcher.Claim(ctx, in.ID)
	})
	route(s.doc, huma.Operation{
		OperationID: "create-claim", Method: http.MethodPost, Path: "/v1/resource-claims", Tags: tags, Summary: "Make a resource claim outside of tasks", DefaultStatus: http.StatusCreated,
		Description: "A node, or devices of it, for jobs of any task that refer to the claim by its name; these jobs wait until it exists. It stays until it is deleted. A repeat changes nothing.",
	}, func(ctx context.Context, in *createClaimInput) (dispatcher.ClaimStanding, error) {
		claim, err := s.dispatcher.CreateClaim(ctx, in.Body)
		return claim, s.names.withQueues(err)
	})
	route(s.doc, huma.Operation{
		OperationID: "delete-claim", Method: http.MethodDelete, Path: "/v1/resource-claims", Tags: tags, Summary: "Delete a resource claim that was made outside of tasks",
		Description: "Refused while jobs hold it, unless forced. Jobs that refer to it wait until a claim of its name exists again.",
	}, func(ctx context.Context, in *deleteClaimInput) (dispatcher.ClaimStanding, error) {
		return s.dispatcher.DeleteClaim(ctx, in.Name, in.Force)
	})
}

// knownClaimFilter returns an error if the filter names a task or a resource that does not exist.
func (s *resourceCalls) knownClaimFilter(ctx context.Context, in *claimsInput) error {
	if in.Task > 0 {
		if _, err := s.tasks.Task(ctx, in.Task); err != nil {
			return err
		}
	}
	if in.Resource == "" {
		return nil
	}
	_, err := s.resourceParts(ctx, in.Resource)
	return err
}
