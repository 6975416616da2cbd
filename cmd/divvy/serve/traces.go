package serve

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/otlp"
)

// tracing makes spans and sends them away. Nil makes none.
type tracing struct{ provider *sdk.TracerProvider }

// startTraces begins with it where the configuration says where to.
func (d *Daemon) startTraces(ctx context.Context) error {
	if d.watch.tracing != nil || d.cfg.Traces.URL == "" {
		return nil
	}
	to, err := otlp.New(ctx, d.cfg.Traces.URL+"/v1/traces")
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	d.watch.tracing = newTracing(sdk.NewBatchSpanProcessor(to), d.cfg.Traces.OneIn)
	d.life.onStop("traces", 5*time.Second, d.watch.tracing.provider.Shutdown)
	return nil
}

// newTracing samples one request in so many; who calls with a trace of his own decides himself.
func newTracing(to sdk.SpanProcessor, oneIn int) *tracing {
	self := resource.NewSchemaless(attribute.String("service.name", "divvy"), attribute.String("service.version", build.Version()))
	return &tracing{sdk.NewTracerProvider(sdk.WithSpanProcessor(to), sdk.WithResource(self),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(1/float64(max(oneIn, 1))))))}
}

// tracer is nil where nothing is traced.
func (t *tracing) tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("divvy")
}
