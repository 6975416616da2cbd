package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/live"
	"github.com/divvyhq/divvy/internal/relay"
)

// Relay connects the daemons of a site, see package link. Any daemon serves pilots. Only the leader knows about pulls
// and recent decisions, so questions about these go there.
type Relay struct {
	// Serve accepts connections of other daemons; questions go to its argument.
	Serve func(questions relay.Handler) http.Handler
	// Ask sends a question to the leader. It returns an error if this daemon leads or the leader cannot be asked.
	Ask func(ctx context.Context, path string, body []byte) (relay.Reply, error)
	// Leader returns the URL of the leader; empty: this daemon leads, or the leader is not known. Every answer to a
	// pilot calls it.
	Leader func() string
}

// headerLeader tells a pilot the URL of the leader, where its calls need no second hop.
const headerLeader = "Divvy-Leader"

// tellLeader adds the header if another daemon leads.
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
	askWanted       = "wanted"
	askStock        = "stock"
	askLately       = "lately"
	askFits         = "fits"
	askExplain      = "explain"
	askExplainTask  = "explain_task"
	askOutput       = "output"
	askOutputReport = "output_report"
)

// asLead returns the leader's answer; if the leader cannot be asked, this daemon's own.
func asLead[T any](ctx context.Context, of *Relay, path string, own func() T) T {
	if there, ok := askLead[T](ctx, of, path, nil); ok {
		return there
	}
	return own()
}

// askLead sends a question to the leader; false if this daemon leads, or there is no answer.
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

// question answers a question of another daemon from this daemon's state.
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
	case askStock:
		return asked(ctx, body, func(_ context.Context, q stockInput) ([]dispatcher.ShareStock, error) {
			return d.ShareStock(q.Share, q.Queue), nil
		})
	case askWanted:
		return asked(ctx, body, func(_ context.Context, q dispatcher.WantedRequest) (dispatcher.QueueWanted, error) {
			return d.Wanted(q)
		})
	case askExplain:
		return asked(ctx, body, d.Explain)
	case askExplainTask:
		return asked(ctx, body, d.ExplainTask)
	case askOutput:
		return asked(ctx, body, func(ctx context.Context, q live.Question) (live.Answer, error) { return s.outputs.Read(ctx, q), nil })
	case askOutputReport:
		return asked(ctx, body, s.outputs.report)
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

// answered encodes an answer. Of an error it keeps the status only: the asking daemon answers the request itself.
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
