package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/relay"
)

// Relay ties the daemons of a site together, see package link. Pilots are served by any daemon; of pulls and decisions of late only the one that
// decides knows, so questions of people that rest on them go there.
type Relay struct {
	// Serve takes connections of other daemons, and has questions answer theirs.
	Serve func(questions relay.Handler) http.Handler
	// Ask puts a question to the daemon that decides. An error: that is this one, or it cannot be asked.
	Ask func(ctx context.Context, path string, body []byte) (relay.Reply, error)
	// Leader is the URL of the daemon that decides; empty: that is this one, or it is not known. Every answer to a pilot asks it.
	Leader func() string
}

// headerLeader tells a pilot which daemon decides: asked there, its calls need no second hop.
const headerLeader = "Divvy-Leader"

// tellLeader adds the header where another daemon decides.
func (of *Relay) tellLeader(next http.Handler) http.Handler {
	if of == nil || of.Leader == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leader := of.Leader(); leader != "" {
			w.Header()[headerLeader] = []string{leader}
		}
		next.ServeHTTP(w, r)
	})
}

// Questions to the daemon that decides.
const (
	askQueues       = "queues"
	askQueuesLately = "queues_lately"
	askLately       = "lately"
	askFits         = "fits"
	askExplain      = "explain"
	askExplainTask  = "explain_task"
)

// asLead is what the daemon that decides knows; when it cannot be asked, what this one knows.
func asLead[T any](ctx context.Context, of *Relay, path string, own func() T) T {
	if there, ok := askLead[T](ctx, of, path, nil); ok {
		return there
	}
	return own()
}

// askLead puts a question to the daemon that decides; false when that is this one, or it has no answer.
func askLead[T any](ctx context.Context, of *Relay, path string, question any) (there T, ok bool) {
	if of == nil {
		return there, false
	}
	body, err := json.Marshal(question)
	if err != nil {
		return there, false
	}
	reply, err := of.Ask(ctx, path, body)
	ok = err == nil && reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &there) == nil
	return there, ok
}

// question answers one of another daemon, by what this one knows.
func (s *server) question(ctx context.Context, path string, body []byte) (r relay.Reply) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a question of another daemon", "path", path, "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			r = relay.Reply{Status: http.StatusInternalServerError}
		}
	}()
	d := s.dispatcher
	switch path {
	case askQueues:
		return answered(d.Queues(), nil)
	case askExplain:
		return asked(ctx, body, d.Explain)
	case askExplainTask:
		return asked(ctx, body, d.ExplainTask)
	case askFits:
		return asked(ctx, body, d.TaskQueues)
	case askQueuesLately:
		return asked(ctx, body, func(_ context.Context, queue string) ([]dispatcher.QueueLately, error) {
			return d.QueuesLately(queue), nil
		})
	case askLately:
		return asked(ctx, body, func(_ context.Context, f dispatcher.DecidedFilter) (dispatcher.Lately, error) {
			return d.Lately(f), nil
		})
	}
	return relay.Reply{Status: http.StatusNotFound}
}

func asked[Q, A any](ctx context.Context, body []byte, ask func(context.Context, Q) (A, error)) relay.Reply {
	var q Q
	if err := json.Unmarshal(body, &q); err != nil {
		return relay.Reply{Status: http.StatusBadRequest}
	}
	return answered(ask(ctx, q))
}

// answered is an answer. Of an error the status is enough: whoever asked finds it itself.
func answered(a any, err error) relay.Reply {
	if err != nil {
		return relay.Reply{Status: problem.Of(err).Status}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return relay.Reply{Status: http.StatusInternalServerError}
	}
	return relay.Reply{Status: http.StatusOK, Body: text}
}
