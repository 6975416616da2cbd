package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

type resourceInput struct {
	Name string `path:"name" doc:"Name of the resource; of a keyed family with or without a key."`
}

type partInput struct {
	Name  string `path:"name" doc:"Name of the resource; of a keyed family with or without a key."`
	Queue string `query:"queue" doc:"Of a resource per queue: one queue; absent = all."`
}

type capacityInput struct {
	Name  string `path:"name" doc:"Name of the resource; of a keyed family with or without a key."`
	Queue string `query:"queue" doc:"Of a resource per queue: one queue; absent = all."`
	By    string `query:"by" maxLength:"200" doc:"Who sets it; kept with it. Ignored where a credential is required: then it is the name of the caller."`
	Body  wire.CapacityRequest
}

type externalInput struct {
	Name  string `path:"name" doc:"Name of the resource; of a keyed family with its key."`
	Queue string `query:"queue" doc:"Of a resource per queue: which one."`
	Body  wire.ExternalRequest
}

// resourceCalls serves resources and claims.
type resourceCalls struct {
	doc        *document
	names      *names
	dispatcher Dispatcher
	tasks      Tasks
	site       Site
}

func (s *resourceCalls) resourceRoutes() {
	tags := []string{"resources"}
	route(s.doc, huma.Operation{
		OperationID: "list-resources", Method: http.MethodGet, Path: "/v1/resources", Tags: tags, Summary: "List the resources as they stand",
		Description: "All of them, in the order of the site file: one of each, of a resource per queue one a queue, of a keyed family one for each key that is in use.",
	}, func(ctx context.Context, _ *struct{}) (wire.Page[dispatcher.ResourceStanding], error) {
		return s.resourceParts(ctx, "")
	})
	route(s.doc, huma.Operation{
		OperationID: "get-resource", Method: http.MethodGet, Path: "/v1/resources/{name}", Tags: tags, Summary: "Show who holds units of a resource, who waits, and why",
		Description: "Its parts: one, of a resource per queue one a queue, of a keyed family (without a key in the name) one for each key that is in use. " +
			"Each with the sharing IDs that hold or want units, and the allowance of each.",
	}, func(ctx context.Context, in *resourceInput) (wire.Page[dispatcher.ResourceStanding], error) {
		return s.resourceParts(ctx, in.Name)
	})
	route(s.doc, huma.Operation{
		OperationID: "set-resource-capacity", Method: http.MethodPut, Path: "/v1/resources/{name}/capacity", Tags: tags, Summary: "Set how many units of a resource there are",
		Description: "At once and in every daemon. It goes before the site file's figure, whatever is applied, until it is reset. " +
			"Below what is held nothing is taken away: no unit is granted until enough have come back.",
	}, func(ctx context.Context, in *capacityInput) (wire.ResourceCapacity, error) {
		return s.setCapacity(ctx, site.SetCapacity{Resource: in.Name, Queue: in.Queue, Capacity: &in.Body.Capacity, By: by(in.By)})
	})
	route(s.doc, huma.Operation{
		OperationID: "reset-resource-capacity", Method: http.MethodDelete, Path: "/v1/resources/{name}/capacity", Tags: tags, Summary: "Go back to the capacity of the site file",
		Description: "Without a queue for all queues, without a key for all keys.",
	}, func(ctx context.Context, in *partInput) (wire.ResourceCapacity, error) {
		return s.setCapacity(ctx, site.SetCapacity{Resource: in.Name, Queue: in.Queue, By: by("")})
	})
	route(s.doc, huma.Operation{
		OperationID: "report-external", Method: http.MethodPost, Path: "/v1/resources/{name}/external", Tags: tags, Summary: "Report what is used of a resource outside of divvy",
		Description: "As a licence server says it: total units, and used ones, ours included. Then at most total − (used − what we have held for longer than settle) " +
			"may be held, never more than the capacity. A report replaces the one before, and counts for external_expires (10m).",
	}, s.reportExternal)
}

func (s *resourceCalls) resourceParts(ctx context.Context, name string) (wire.Page[dispatcher.ResourceStanding], error) {
	parts, err := s.dispatcher.Resources(ctx, name)
	if err != nil {
		return wire.Page[dispatcher.ResourceStanding]{}, s.names.withResources(ctx, err)
	}
	return wire.Page[dispatcher.ResourceStanding]{Items: edge.List(parts)}, nil
}

func (s *resourceCalls) setCapacity(ctx context.Context, c site.SetCapacity) (wire.ResourceCapacity, error) {
	if err := s.site.SetResourceCapacity(ctx, c); err != nil {
		return wire.ResourceCapacity{}, s.names.withResources(ctx, s.names.withQueues(err))
	}
	st, err := s.site.Load(ctx)
	if err != nil {
		return wire.ResourceCapacity{}, err
	}
	name, key := shares.CutResource(c.Resource)
	i := slices.IndexFunc(st.Resources, func(r shares.Resource) bool { return r.Name == name })
	if i < 0 { // it was removed just now
		return wire.ResourceCapacity{}, s.names.withResources(ctx, fmt.Errorf("%w: %q", site.ErrUnknownResource, name))
	}
	r := st.Resources[i]
	return wire.ResourceCapacity{Name: c.Resource, Queue: c.Queue, Capacity: r.CapacityAt(key, c.Queue), FileCapacity: r.Capacity,
		Set: c.Capacity != nil}, nil
}

func (s *resourceCalls) reportExternal(ctx context.Context, in *externalInput) (wire.Page[dispatcher.ResourceStanding], error) {
	if err := s.dispatcher.ReportExternal(ctx, in.Name, in.Queue, in.Body.Total, in.Body.Used); err != nil {
		return wire.Page[dispatcher.ResourceStanding]{}, s.names.withResources(ctx, s.names.withQueues(inQuery(err)))
	}
	return s.resourceParts(ctx, in.Name)
}

// withResources adds the names of the resources to an error about an unknown one.
func (s *names) withResources(ctx context.Context, err error) error {
	p := problem.Of(err)
	if p.Code != problem.NoResource.Name {
		return err
	}
	st, loadErr := s.site.Load(ctx)
	if loadErr != nil {
		return err
	}
	p.Hint = "the site has " + st.Version().ResourceNames()
	if len(st.Resources) == 0 {
		p.Hint = "the site file has no resources:"
	}
	return p
}
