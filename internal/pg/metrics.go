package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Metrics are how long statements take, and which fail. The label statement has the values of StatementName, so there
// are as many series as files of SQL that ran.
type Metrics struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
	reg     prometheus.Registerer
}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{reg: reg,
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_sql_seconds",
			Help:    "Time of a statement, or of a batch of them that is one round trip, under the name of its last one: package/file, or begin, commit, rollback, copy, other.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}, []string{"statement"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_sql_errors_total",
			Help: "Statements that failed, by the class of the error: the first two characters of its SQLSTATE, cancelled, or connection. Some are part of how grants meet: 23 is a job that another daemon was faster with."},
			[]string{"class"}),
	}
}

// Observed has the statements of a pool counted by m, and traced where the caller's context is.
func Observed(m *Metrics) Option {
	return func(c *pgxpool.Config) { c.ConnConfig.Tracer = observer{m} }
}

// Watch exports how the connections of a pool are used.
func (m *Metrics) Watch(pool *pgxpool.Pool) { m.reg.MustRegister(&poolMetrics{pool: pool}) }

// observer is what pgx calls around statements.
type observer struct{ m *Metrics }

type startedKey struct{}

// started is one statement that is under way.
type started struct {
	name string
	at   time.Time
	span trace.Span // nil: nobody traces this
}

func (o observer) start(ctx context.Context, name string) context.Context {
	s := &started{name: name, at: time.Now()}
	if parent := trace.SpanFromContext(ctx); parent.IsRecording() {
		ctx, s.span = parent.TracerProvider().Tracer("divvy").Start(ctx, "sql "+name, trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.summary", name)))
	}
	return context.WithValue(ctx, startedKey{}, s)
}

func (o observer) end(ctx context.Context, err error) {
	s, ok := ctx.Value(startedKey{}).(*started)
	if !ok || s.at.IsZero() {
		return
	}
	o.m.seconds.WithLabelValues(s.name).Observe(time.Since(s.at).Seconds())
	s.at = time.Time{} // pgx may say twice that a batch has ended
	if failed := err != nil && !errors.Is(err, pgx.ErrNoRows); failed {
		o.m.errors.WithLabelValues(errorClass(err)).Inc()
		if s.span != nil {
			s.span.SetStatus(codes.Error, "SQLSTATE class "+errorClass(err)) // the text may have values of users in it
		}
	}
	if s.span != nil {
		s.span.End()
	}
}

// errorClass is one of some forty words.
func errorClass(err error) string {
	if code := Code(err); len(code) >= 2 {
		return code[:2]
	}
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &connect):
		return "connection"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "connection"
}

// TraceQueryStart is part of pgx.QueryTracer.
func (o observer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return o.start(ctx, StatementName(data.SQL))
}

// TraceQueryEnd is part of pgx.QueryTracer.
func (o observer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	o.end(ctx, data.Err)
}

// TraceBatchStart is part of pgx.BatchTracer. The last statement of a batch is what it is for.
func (o observer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	sql := "" // of an empty batch
	if all := data.Batch.QueuedQueries; len(all) > 0 {
		sql = all[len(all)-1].SQL
	}
	return o.start(ctx, StatementName(sql))
}

// TraceBatchQuery is part of pgx.BatchTracer.
func (o observer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is part of pgx.BatchTracer.
func (o observer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	o.end(ctx, data.Err)
}

// TraceCopyFromStart is part of pgx.CopyFromTracer.
func (o observer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return o.start(ctx, "copy")
}

// TraceCopyFromEnd is part of pgx.CopyFromTracer.
func (o observer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromEndData) {
	o.end(ctx, data.Err)
}
