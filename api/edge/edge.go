package edge

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/internal/access"
)

// Edge wraps every handler.
type Edge struct {
	log      *slog.Logger
	tracer   trace.Tracer // nil: no traces
	entrance access.Entrance
	metrics  *metrics
	paces    *paces
}

// New returns an edge. The entrance decides which callers are admitted; rates bound the requests of each token.
func New(log *slog.Logger, tracer trace.Tracer, entrance access.Entrance, rates Rates, reg prometheus.Registerer) *Edge {
	return &Edge{log: log, tracer: tracer, entrance: entrance, metrics: newMetrics(reg), paces: newPaces(rates)}
}
