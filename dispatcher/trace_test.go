package dispatcher

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A pull whose caller is traced has a span, and below it is the batch that leases its job; who is not traced has none.
func TestTraceOfAPull(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("a", 1)}, slots("q", 4))
	d := f.daemon()
	jobs := f.enqueue(batch{share: "a", n: 2})
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	reply, err := d.Pull(ctx, PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}})
	if err != nil {
		t.Fatal(err)
	}
	root.End()
	if _, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}}); err != nil {
		t.Fatal(err)
	}
	byName := map[string]sdk.ReadOnlySpan{}
	eventually(t, "the spans have ended", func() bool {
		for _, s := range spans.Ended() {
			byName[s.Name()] = s
		}
		return len(byName) == 3
	})
	pull, grant := byName["pull"], byName["grant"]
	if pull == nil || grant == nil || len(spans.Ended()) != 3 {
		t.Fatalf("%d spans: %v", len(spans.Ended()), byName)
	}
	if pull.Parent().SpanID() != root.SpanContext().SpanID() || grant.Parent().SpanID() != pull.SpanContext().SpanID() {
		t.Error("they do not hang together")
	}
	said := map[string]any{}
	for _, a := range pull.Attributes() {
		said[string(a.Key)] = a.Value.AsInterface()
	}
	if got := said["divvy.jobs"].([]int64); len(got) != 1 || got[0] != reply.Leases[0].Job || got[0] != jobs[0] || said["divvy.queue"] != "q" {
		t.Errorf("attributes %v", said)
	}
}

// A batch hangs below the first pull of it that is traced, and names the others.
func TestTraceOfABatch(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test")
	var b leaseBatch
	var traced []trace.SpanContext
	for i := range 4 {
		p := &pull{}
		if i != 1 {
			_, p.span = tracer.Start(t.Context(), "pull")
			traced = append(traced, p.span.SpanContext())
		}
		b.pulls = append(b.pulls, p)
	}
	_, end := b.trace(t.Context())
	end(ErrStopping)
	all := spans.Ended()
	if len(all) != 1 || all[0].Name() != "grant" || all[0].Parent().SpanID() != traced[0].SpanID() || len(all[0].Links()) != 2 ||
		all[0].Links()[1].SpanContext.SpanID() != traced[2].SpanID() || all[0].Status().Description == "" {
		t.Errorf("%d spans: %+v", len(all), all)
	}
	if _, end := (leaseBatch{pulls: []*pull{{}}}).trace(t.Context()); end == nil {
		t.Error("nothing to end it by")
	}
	if n := len(spans.Ended()); n != 1 {
		t.Errorf("%d spans, though nobody traces the batch", n)
	}
}
