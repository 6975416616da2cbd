package pg

import (
	"context"
	"errors"
	"sync"
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

	texts map[string]*statement // those of MustLoad, by their text; not written any more
	named sync.Map              // statements by their names
}

// statement is one name with its series, which is made when it first ran and not looked for again.
type statement struct {
	name    string
	seconds func() prometheus.Observer
}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{reg: reg, texts: map[string]*statement{},
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_sql_seconds",
			Help:    "Time of a statement, or of a batch of them that is one round trip, under the name of its last one: package/file, or begin, commit, rollback, copy, other.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}, []string{"statement"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_sql_errors_total",
			Help: "Statements that failed, by the class of the error: the first two characters of its SQLSTATE, cancelled, or connection. Some are part of how grants meet: 23 is a job that another daemon was faster with."},
			[]string{"class"}),
	}
	names.Range(func(text, name any) bool {
		m.texts[text.(string)] = m.byName(name.(string))
		return true
	})
	return m
}

func (m *Metrics) byName(name string) *statement {
	if s, has := m.named.Load(name); has {
		return s.(*statement)
	}
	s, _ := m.named.LoadOrStore(name, &statement{name, sync.OnceValue(func() prometheus.Observer { return m.seconds.WithLabelValues(name) })})
	return s.(*statement)
}

func (m *Metrics) statement(sql string) *statement {
	if s, has := m.texts[sql]; has {
		return s
	}
	return m.byName(StatementName(sql))
}

// Observed has the statements of a pool counted by m, and with traced, traced where the caller's context is.
func Observed(m *Metrics, traced bool) Option {
	return func(c *pgxpool.Config) { c.ConnConfig.Tracer = observer{m, traced} }
}

// Watch exports how the connections of a pool are used.
func (m *Metrics) Watch(pool *pgxpool.Pool) { m.reg.MustRegister(&poolMetrics{pool: pool}) }

// observer is what pgx calls around statements.
type observer struct {
	m      *Metrics
	traced bool // false: no traces
}

type startedKey struct{}

// started is one statement that is under way, and its context: one piece of memory a statement.
type started struct {
	context.Context
	of   *statement
	at   time.Time
	span trace.Span // nil: not traced
}

// Value is part of context.Context.
func (s *started) Value(key any) any {
	if key == (startedKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func (o observer) start(ctx context.Context, of *statement) context.Context {
	s := &started{Context: ctx, of: of}
	if o.traced {
		s.trace()
	}
	s.at = time.Now()
	return s
}

// trace begins a span below that of the caller, where that is recorded.
func (s *started) trace() {
	parent := trace.SpanFromContext(s.Context)
	if !parent.IsRecording() {
		return
	}
	s.Context, s.span = parent.TracerProvider().Tracer("divvy").Start(s.Context, "sql "+s.of.name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.summary", s.of.name)))
}

func (o observer) end(ctx context.Context, err error) {
	s, ok := ctx.Value(startedKey{}).(*started)
	if !ok || s.at.IsZero() {
		return
	}
	s.of.seconds().Observe(time.Since(s.at).Seconds())
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
	return o.start(ctx, o.m.statement(data.SQL))
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
	return o.start(ctx, o.m.statement(sql))
}

// TraceBatchQuery is part of pgx.BatchTracer.
func (o observer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is part of pgx.BatchTracer.
func (o observer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	o.end(ctx, data.Err)
}

// TraceCopyFromStart is part of pgx.CopyFromTracer.
func (o observer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return o.start(ctx, o.m.byName("copy"))
}

// TraceCopyFromEnd is part of pgx.CopyFromTracer.
func (o observer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromEndData) {
	o.end(ctx, data.Err)
}
