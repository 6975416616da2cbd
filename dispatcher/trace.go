package dispatcher

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A pull whose caller is traced gets a span from its arrival to its answer. A batch that has such a pull gets one too, below
// the first of them and linked to the others, from the decision to the commit; its statements are below it (internal/pg).

// begin is the span of a pull; nil: nobody traces it.
func (p *pull) begin(ctx context.Context) context.Context {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx
	}
	ctx, p.span = parent.TracerProvider().Tracer("divvy").Start(ctx, "pull", trace.WithAttributes(
		attribute.String("divvy.queue", p.req.Queue), attribute.String("divvy.pilot", p.req.Pilot), attribute.Int("divvy.max", p.most)))
	return ctx
}

// end says what the pull got.
func (p *pull) end(err error) {
	if p.span == nil {
		return
	}
	if err == nil {
		jobs := make([]int64, len(p.leases))
		for i := range p.leases {
			jobs[i] = p.leases[i].Job
		}
		p.span.SetAttributes(attribute.Int64Slice("divvy.jobs", jobs))
	} else {
		p.span.AddEvent(err.Error()) // no job is no error
	}
	p.span.End()
}

// trace is the span of the batch; what ends it gets the error.
func (b leaseBatch) trace(ctx context.Context) (context.Context, func(error)) {
	var first trace.Span
	var links []trace.Link
	for _, p := range b.pulls {
		switch {
		case p.span == nil:
		case first == nil:
			first = p.span
		default:
			links = append(links, trace.Link{SpanContext: p.span.SpanContext()})
		}
	}
	if first == nil {
		return ctx, func(error) {}
	}
	ctx, span := first.TracerProvider().Tracer("divvy").Start(trace.ContextWithSpan(ctx, first), "grant", trace.WithLinks(links...),
		trace.WithTimestamp(b.decided), trace.WithAttributes(attribute.Int("divvy.pulls", len(b.pulls)), attribute.Int("divvy.jobs", b.size())))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "not leased")
		}
		span.End()
	}
}
