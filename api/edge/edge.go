package edge

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/internal/access"
)

// Edge is what stands around every handler.
type Edge struct {
	log      *slog.Logger
	tracer   trace.Tracer // nil: nothing is traced
	entrance access.Entrance
	metrics  *metrics
	paces    *paces
}

// New asks the entrance who is let in, and bounds by rates what is served of one token.
func New(log *slog.Logger, tracer trace.Tracer, entrance access.Entrance, rates Rates, reg prometheus.Registerer) *Edge {
	return &Edge{log: log, tracer: tracer, entrance: entrance, metrics: newMetrics(reg), paces: newPaces(rates)}
}
