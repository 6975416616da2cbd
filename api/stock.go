package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

type stockInput struct {
	Share string `query:"share" doc:"Only this share and those below it."`
	Queue string `query:"queue" doc:"Only what this queue may run, and whether it lacks some."`
}

func (s *shareCalls) stockRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "stock", Method: http.MethodGet, Path: "/v1/stock", Tags: []string{"site"}, Summary: "Show how well shares are supplied with ready jobs",
		Description: "Of every leaf: its ready jobs by the set of queues that may run them, and the queues that have none of it, with the reason.",
	}, onceLoaded(s.dispatcher, func(ctx context.Context, in *stockInput) (wire.Page[dispatcher.ShareStock], error) {
		all, err := s.stock(ctx, in)
		return wire.Page[dispatcher.ShareStock]{Items: edge.List(all)}, err
	}))
	route(s.doc, huma.Operation{
		OperationID: "task-queues", Method: http.MethodGet, Path: "/v1/tasks/{id}/queues", Tags: []string{"tasks"}, Summary: "Show where the jobs of a task may run",
		Description: "Of each kind of jobs that it has or will have: every queue, and the filter that excludes it. Nothing when the task is over.",
	}, func(ctx context.Context, in *byID) (wire.Page[dispatcher.KindQueues], error) {
		if _, err := s.tasks.Task(ctx, in.ID); err != nil {
			return wire.Page[dispatcher.KindQueues]{}, err
		}
		if all, ok := askLead[[]dispatcher.KindQueues](ctx, s.relay, askFits, in.ID); ok {
			return wire.Page[dispatcher.KindQueues]{Items: edge.List(all)}, nil
		}
		all, err := s.dispatcher.TaskQueues(ctx, in.ID)
		return wire.Page[dispatcher.KindQueues]{Items: edge.List(all)}, err
	})
}

// stock returns how many ready jobs shares have for their queues.
func (s *shareCalls) stock(ctx context.Context, in *stockInput) ([]dispatcher.ShareStock, error) {
	known := func(q dispatcher.QueueStanding) bool { return q.Name == in.Queue }
	if in.Queue != "" && !slices.ContainsFunc(s.dispatcher.Queues(), known) {
		return nil, s.names.withQueues(fmt.Errorf("%w: %q", dispatcher.ErrUnknownQueue, in.Queue))
	}
	all, ok := askLead[[]dispatcher.ShareStock](ctx, s.relay, askStock, in)
	if !ok {
		all = s.dispatcher.ShareStock(in.Share, in.Queue)
	}
	if len(all) == 0 {
		return nil, s.names.knownShare(in.Share)
	}
	return all, nil
}
