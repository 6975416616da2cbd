package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/relay"
)

// Relay ties the daemons of a site together: pulls and ends are served by the one that decides, wherever they arrive.
type Relay struct {
	Secret   string                                       // what other daemons must say here
	SecretOf func(context.Context, int64) (string, error) // of the open daemon with this id, by the database
	Lead     func() *relay.Conn                           // to the daemon that decides; nil: this one does
	Done     <-chan struct{}                              // closed: this daemon serves no other ones any more
}

// handed is a request that may be another daemon's to serve.
type handed struct {
	path  string
	body  []byte
	again bool // it may be served twice: the second time gets the answer of the first
}

// handOn has a request served by the daemon that decides. No reply and no error: it is for this daemon to serve, as it
// decides itself, or since the other one does not serve now and the request may be repeated.
func (s *server) handOn(ctx context.Context, w http.ResponseWriter, h handed) (*relay.Reply, error) {
	if s.Relay == nil {
		return nil, nil
	}
	if _, already := w.(*relayed); already {
		return nil, nil // daemons that are of two minds must not play ball with it
	}
	lead := s.Relay.Lead()
	if lead == nil {
		return nil, nil
	}
	reply, err := lead.Call(ctx, h.path, h.body)
	switch {
	case errors.Is(err, relay.ErrBroken) && h.again:
		s.metrics.handedBack.Inc()
		return nil, nil
	case err != nil:
		return nil, err
	case reply.Status == http.StatusServiceUnavailable && h.again:
		s.metrics.handedBack.Inc()
		return nil, nil
	case reply.Status == http.StatusNotFound:
		return nil, nil // a queue that this daemon has heard of already, perhaps
	}
	s.metrics.handedOn.Inc()
	return &reply, nil
}

// What other daemons ask of the one that decides, beside the routes of pilots.
const (
	askStanding = "standing"
	askQueues   = "queues"
	askExplain  = "explain"

	askExplainTask = "explain_task"

	askWhy       = "why"
	askResources = "resources"
	askStock     = "stock"
	askFits      = "fits"

	askQueuesLately = "queues_lately"
	askLately       = "lately"
)

// asLead is what the daemon that decides knows of pilots that wait and of what was granted a moment ago; when it cannot
// be asked, what this one knows.
func asLead[T any](ctx context.Context, s *server, path string, own func() T) T {
	if there, ok := askLead[T](ctx, s, path, nil); ok {
		return there
	}
	return own()
}

// askLead puts a question to the daemon that decides; false when that is this one, or it has no answer.
func askLead[T any](ctx context.Context, s *server, path string, question any) (there T, ok bool) {
	if s.Relay == nil {
		return there, false
	}
	lead := s.Relay.Lead()
	if lead == nil {
		return there, false
	}
	body, err := json.Marshal(question)
	if err != nil {
		return there, false
	}
	reply, err := lead.Call(ctx, path, body)
	ok = err == nil && reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &there) == nil
	return there, ok
}

// passOn answers with what another daemon said.
func passOn(w http.ResponseWriter, r *relay.Reply) {
	if r.RetryAfter != "" {
		w.Header()["Retry-After"] = []string{r.RetryAfter}
	}
	if r.Status == http.StatusOK {
		send(w, r.Body)
		return
	}
	if r.ContentType != "" {
		w.Header()["Content-Type"] = []string{r.ContentType}
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // the client may have gone
}

// relayServer takes the connections of other daemons.
func (s *server) relayServer() *relay.Server {
	routes := s.pilotRoutes()
	routes[askStanding] = func(w http.ResponseWriter, r *http.Request) { reply(w, s.dispatcher.Outlook(r.Context())) }
	routes[askQueues] = func(w http.ResponseWriter, _ *http.Request) { reply(w, s.dispatcher.Queues()) }
	routes[askExplain] = serveAsked(s, s.dispatcher.Explain)
	routes[askExplainTask] = serveAsked(s, s.dispatcher.ExplainTask)
	routes[askWhy] = serveAsked(s, s.dispatcher.Why)
	routes[askResources] = serveAsked(s, s.dispatcher.Resources)
	routes[askStock] = serveAsked(s, s.stock)
	routes[askFits] = serveAsked(s, s.dispatcher.TaskQueues)
	routes[askQueuesLately] = serveAsked(s, func(_ context.Context, queue string) ([]dispatcher.QueueLately, error) {
		return s.dispatcher.QueuesLately(queue), nil
	})
	routes[askLately] = serveAsked(s, func(_ context.Context, f dispatcher.DecidedFilter) (dispatcher.Lately, error) {
		return s.dispatcher.Lately(f), nil
	})
	return &relay.Server{Secret: s.Relay.Secret, SecretOf: s.Relay.SecretOf, Done: s.Relay.Done, Handle: func(ctx context.Context, path string, body []byte, answer func(relay.Reply)) {
		w := seats.Get().(*relayed)
		defer w.leave()
		defer func() {
			if p := recover(); p != nil {
				w.clear()
				_ = s.panicked(&exchange{ResponseWriter: w}, p)
				answer(w.reply())
			}
		}()
		serve := routes[path]
		if serve == nil {
			s.fail(w, newProblem(codeNoRoute, path))
		} else {
			r := &http.Request{Method: http.MethodPost, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
			serve(w, r.WithContext(ctx))
		}
		answer(w.reply())
	}}
}

// relayed is the http.ResponseWriter of a request that another daemon has handed on.
type relayed struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var seats = sync.Pool{New: func() any { return &relayed{header: http.Header{}} }}

func (w *relayed) Header() http.Header { return w.header }

func (w *relayed) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *relayed) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

func (w *relayed) reply() relay.Reply {
	return relay.Reply{Status: w.status, ContentType: w.header.Get("Content-Type"), RetryAfter: w.header.Get("Retry-After"), Body: w.body.Bytes()}
}

func (w *relayed) clear() {
	clear(w.header)
	w.status = 0
	w.body.Reset()
}

func (w *relayed) leave() {
	w.clear()
	if w.body.Cap() <= keep {
		seats.Put(w)
	}
}
