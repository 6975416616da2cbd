package dispatcher

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// traced begins the span of a pull whose caller is traced, from its arrival to its commit; end takes the answer.
func traced(ctx context.Context, queue string, p *machine.Pull) (spanned context.Context, end func(lease.Answer, error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func(lease.Answer, error) {}
	}
	ctx, span := parent.TracerProvider().Tracer("divvy").Start(ctx, "pull", trace.WithAttributes(
		attribute.String("divvy.queue", queue), attribute.String("divvy.pilot", p.Pilot), attribute.Int("divvy.max", p.Most)))
	return ctx, func(a lease.Answer, err error) {
		if err != nil {
			span.AddEvent(err.Error()) // no job is no error
		} else {
			jobs := make([]int64, len(a.Leases))
			for i, l := range a.Leases {
				jobs[i] = l.Job
			}
			span.SetAttributes(attribute.Int64Slice("divvy.jobs", jobs), attribute.Int64("divvy.batch", a.Seq))
		}
		span.End()
	}
}
