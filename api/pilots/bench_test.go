package pilots

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
)

// granting grants one lease to every pull.
type granting struct{ Dispatcher }

func (*granting) Pull(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
	return dispatcher.PullReply{Leases: []dispatcher.Lease{{Lease: "L1"}}}, nil
}

// hanging answers a pull when nobody waits for it any more.
type hanging struct{ Dispatcher }

func (*hanging) Pull(ctx context.Context, _ dispatcher.PullRequest) (r dispatcher.PullReply, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

// bench are the routes of pilots behind an edge.
type bench struct {
	calls  *Calls
	routes map[string]http.Handler
}

func newBench(t *testing.T, d Dispatcher, in access.Entrance) *bench {
	t.Helper()
	reg := prometheus.NewRegistry()
	e := edge.New(slog.New(slog.DiscardHandler), nil, in, edge.Rates{}, reg)
	b := &bench{calls: New(e, in, d, NewLoad(reg), time.Second, func(err error) error { return err }), routes: map[string]http.Handler{}}
	for path, h := range b.calls.Routes() {
		b.routes[path] = e.Hot(path, h)
	}
	return b
}

// call makes a request; header pairs follow the body.
func (b *bench) call(path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.routes[path].ServeHTTP(w, r)
	return w
}
