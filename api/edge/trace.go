package edge

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced begins the span of a request, which goes on the caller's trace where the request has one (traceparent). It is
// nil where nothing is traced.
func (e *Edge) traced(r *http.Request) (*http.Request, trace.Span) {
	if e.tracer == nil {
		return r, nil
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := e.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return r, nil
	}
	return r.WithContext(ctx), span
}

// endSpan says what became of the request, by its route: a path has ids in it.
func endSpan(span trace.Span, x *Exchange, method, route string) {
	if span == nil {
		return
	}
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", x.status), attribute.String("divvy.request_id", x.id))
	if x.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
