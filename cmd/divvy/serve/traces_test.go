package serve

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// A trace goes from the request of a pull to the commit of its lease, and to statements: spans hang together, and say names and ids only.
func TestTraceFromPullToCommit(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	_, cl := tracedDaemon(t, func(d *Daemon) { d.watch.tracing = newTracing(sdk.NewSimpleSpanProcessor(spans), 1) }, nil)
	if _, err := cl.Tasks().Submit(t.Context(), servetest.Hello(1), ""); err != nil {
		t.Fatal(err)
	}
	reply, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p1", WaitS: 60})
	if err != nil || len(reply.Leases) != 1 {
		t.Fatal(reply, err)
	}
	for from, want := range map[string][]string{
		"pull":                 {"pull", "POST /v1/pulls"},
		"sql generator/submit": {"sql generator/submit", "POST /v1/tasks"},
	} {
		var path []string
		servetest.Eventually(t, 20*time.Second, func() (bool, string) {
			all := spans.GetSpans()
			path = nil
			for at := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == from }); at >= 0; {
				s := all[at]
				path = append(path, s.Name)
				at = slices.IndexFunc(all, func(o tracetest.SpanStub) bool { return o.SpanContext.SpanID() == s.Parent.SpanID() })
			}
			return slices.Equal(path, want), "the trace is " + strings.Join(path, " < ")
		})
	}
	for _, s := range spans.GetSpans() {
		for _, a := range s.Attributes {
			if text := a.Value.String(); strings.Contains(text, "SELECT") || strings.Contains(text, reply.Leases[0].Lease) {
				t.Errorf("%s: %s = %s", s.Name, a.Key, text)
			}
		}
	}
}

// tracedDaemon is a daemon that with and change have prepared.
func tracedDaemon(t *testing.T, with func(*Daemon), change func(*config.Config)) (*Daemon, *client.Client) {
	t.Helper()
	cfg := servetest.Config(t, nil)
	if change != nil {
		change(&cfg)
	}
	d := New(cfg, slog.New(slog.DiscardHandler))
	if with != nil {
		with(d)
	}
	cl := servetest.Start(t, d, client.Config{})
	return d, cl
}

// By default nothing is traced; with an address, what is traced goes there.
func TestTracesGoOut(t *testing.T) {
	t.Parallel()
	plain, _ := startDaemon(t, nil)
	if plain.watch.tracing != nil || plain.watch.tracing.tracer() != nil {
		t.Error("it traces though nobody said so")
	}
	var mu sync.Mutex
	var got []byte
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/v1/traces" {
			got = append(got, b...)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	d, cl := tracedDaemon(t, nil, func(c *config.Config) { c.Traces.URL, c.Traces.OneIn = collector.URL, 1 })
	if _, err := cl.Daemon().Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) { // a span may end behind the answer
		if err := d.watch.tracing.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		text := string(got)
		return strings.Contains(text, "GET /v1/status") && strings.Contains(text, "service.name"), "the collector got " + strconv.Quote(text)
	})
}

// One request in so many is traced, and every one whose caller traces it.
func TestTraceOneIn(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tr := newTracing(sdk.NewSimpleSpanProcessor(spans), 50)
	for range 10_000 {
		_, span := tr.tracer().Start(t.Context(), "x")
		span.End()
	}
	if n := len(spans.GetSpans()); n < 100 || n > 350 { // 200 ± 10 σ
		t.Errorf("%d of 10000 traced, want about 200", n)
	}
}
