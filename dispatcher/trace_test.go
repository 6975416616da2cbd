package dispatcher

import (
	"errors"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A pull whose caller is traced has a span below the caller's, with what it got, or why it got nothing; one that is not traced has none.
func TestTraceOfAPull(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	p.jobs(2, "")
	w.must(t, "n") // it leads
	spans := tracetest.NewSpanRecorder()
	ctx, root := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "root")
	req := PullRequest{Queue: "q", Pilot: "p", Node: "n", WaitS: 1}
	reply, err := w.Pull(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	req.WaitS = 0
	if _, err := w.Pull(ctx, req); !errors.Is(err, ErrNoJobs) {
		t.Fatal(err)
	}
	if _, err := w.Pull(t.Context(), req); !errors.Is(err, ErrNoJobs) {
		t.Fatal(err)
	}
	all := spans.Ended()
	if len(all) != 2 {
		t.Fatalf("%d spans, want one for each pull that is traced", len(all))
	}
	said := map[string]any{}
	for _, a := range all[0].Attributes() {
		said[string(a.Key)] = a.Value.AsInterface()
	}
	jobs, _ := said["divvy.jobs"].([]int64)
	if all[0].Name() != "pull" || all[0].Parent().SpanID() != root.SpanContext().SpanID() || len(jobs) != 1 || jobs[0] != reply.Leases[0].Job ||
		said["divvy.queue"] != "q" || said["divvy.batch"].(int64) < 1 {
		t.Errorf("%s: %v", all[0].Name(), said)
	}
	if events := all[1].Events(); len(events) != 1 || events[0].Name != ErrNoJobs.Error() {
		t.Errorf("events of a pull that got nothing: %v", events)
	}
}
