package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

type queueInput struct {
	Name string `path:"name" doc:"Name of the queue."`
}

type wantedInput struct {
	Name string `path:"name" doc:"Name of the queue."`
	Seen string `query:"seen" maxLength:"200" doc:"Beginning of names: pilots named so that pulled lately are listed as seen."`
}

func (s *shareCalls) queueRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "list-queues", Method: http.MethodGet, Path: "/v1/queues", Tags: []string{"site"}, Summary: "List the queues as they stand",
		Description: "All of them, in the order of the site file.",
	}, onceLoaded(s.dispatcher, func(ctx context.Context, _ *struct{}) (wire.Page[dispatcher.QueueStanding], error) {
		return wire.Page[dispatcher.QueueStanding]{Items: edge.List(asLead(ctx, s.relay, askQueues, s.dispatcher.Queues))}, nil
	}))
	route(s.doc, huma.Operation{
		OperationID: "get-queue", Method: http.MethodGet, Path: "/v1/queues/{name}", Tags: []string{"site"}, Summary: "Show a queue",
	}, onceLoaded(s.dispatcher, func(ctx context.Context, in *queueInput) (dispatcher.QueueStanding, error) {
		return s.names.queueIn(asLead(ctx, s.relay, askQueues, s.dispatcher.Queues), in.Name)
	}))
	route(s.doc, huma.Operation{
		OperationID: "queue-wanted", Method: http.MethodGet, Path: "/v1/queues/{name}/wanted", Tags: []string{"site"}, Summary: "Show how many pilots a queue should have",
		Description: "In total, of a queue with a provision: by the ready and coming jobs that fit it, what runs, and the figures of the site file. " +
			"KEDA's metrics-api reads it with valueLocation wanted.",
	}, onceLoaded(s.dispatcher, func(ctx context.Context, in *wantedInput) (dispatcher.QueueWanted, error) {
		q := dispatcher.WantedRequest{Queue: in.Name, Seen: in.Seen}
		if there, ok := askLead[dispatcher.QueueWanted](ctx, s.relay, askWanted, q); ok {
			return there, nil
		}
		out, err := s.dispatcher.Wanted(q)
		return out, s.names.withQueues(err)
	}))
	for _, v := range []struct {
		verb, summary string
		state         shares.QueueState
	}{
		{"drain", "Give a queue no new jobs; those that it runs go on", shares.Drain},
		{"online", "Give a queue jobs again", shares.Online},
		{"test", "Give a queue only jobs that ask for it, by its name or a label", shares.Test},
		{"offline", "Take a queue out: no new jobs, and its slots are not capacity", shares.Offline},
	} {
		route(s.doc, huma.Operation{
			OperationID: v.verb + "-queue", Method: http.MethodPost, Path: "/v1/queues/{name}/" + v.verb, Tags: []string{"site"}, Summary: v.summary,
		}, onceLoaded(s.dispatcher, func(ctx context.Context, in *queueInput) (dispatcher.QueueStanding, error) {
			return s.setQueue(ctx, in.Name, v.state)
		}))
	}
}

func (s *names) queueIn(queues []dispatcher.QueueStanding, name string) (dispatcher.QueueStanding, error) {
	for _, q := range queues {
		if q.Name == name {
			return q, nil
		}
	}
	return dispatcher.QueueStanding{}, s.withQueues(fmt.Errorf("%w: %q", dispatcher.ErrUnknownQueue, name))
}

// setQueue answers with the new state, though this daemon's own state may lag by a moment.
func (s *shareCalls) setQueue(ctx context.Context, name string, state shares.QueueState) (dispatcher.QueueStanding, error) {
	if err := s.site.SetQueueState(ctx, name, state); err != nil {
		return dispatcher.QueueStanding{}, s.names.withQueues(err)
	}
	q, err := s.names.queueIn(s.dispatcher.Queues(), name)
	q.State = state
	return q, err
}
