package pg

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestStatementName(t *testing.T) {
	names.Store("SELECT 'a statement of a file'", "owner/file")
	for sql, want := range map[string]string{
		"SELECT 'a statement of a file'": "owner/file", "begin": "begin", "BEGIN ISOLATION LEVEL SERIALIZABLE": "begin", "commit": "commit",
		"rollback": "rollback", "SELECT 1": "other", "": "other", "release savepoint x": "release",
	} {
		if got := StatementName(sql); got != want {
			t.Errorf("%q is called %q, want %q", sql, got, want)
		}
	}
}

func TestErrorClass(t *testing.T) {
	for want, err := range map[string]error{
		"23": &pgconn.PgError{Code: "23505"}, "57": &pgconn.PgError{Code: "57P01"}, "cancelled": context.DeadlineExceeded,
		"connection": errors.New("broken pipe"),
	} {
		if got := errorClass(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// Statements are counted once each, whatever their end, and have a span where the caller has one.
func TestObserver(t *testing.T) {
	reg := prometheus.NewRegistry()
	o := observer{NewMetrics(reg), true}
	spans := tracetest.NewSpanRecorder()
	ctx, root := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("t").Start(t.Context(), "root")
	of := o.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: "commit"})
	o.TraceQueryEnd(of, nil, pgx.TraceQueryEndData{})
	var batch pgx.Batch
	batch.Queue("begin")
	batch.Queue("SELECT 1")
	of = o.TraceBatchStart(ctx, nil, pgx.TraceBatchStartData{Batch: &batch})
	o.TraceBatchEnd(of, nil, pgx.TraceBatchEndData{Err: &pgconn.PgError{Code: "40001", Message: "secret"}})
	o.TraceBatchEnd(of, nil, pgx.TraceBatchEndData{Err: errors.New("once more")})
	of = o.TraceCopyFromStart(t.Context(), nil, pgx.TraceCopyFromStartData{})
	o.TraceCopyFromEnd(of, nil, pgx.TraceCopyFromEndData{})
	of = o.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{SQL: "x"})
	o.TraceQueryEnd(of, nil, pgx.TraceQueryEndData{Err: pgx.ErrNoRows})
	root.End()
	if n := testutil.CollectAndCount(o.m.seconds); n != 3 { // commit, other, copy
		t.Errorf("%d series", n)
	}
	if n := testutil.ToFloat64(o.m.errors); n != 1 {
		t.Errorf("%v errors", n)
	}
	ended := spans.Ended()
	if len(ended) != 3 || ended[0].Name() != "sql commit" || ended[1].Name() != "sql other" || ended[1].Status().Description != "SQLSTATE class 40" {
		t.Errorf("%+v", ended)
	}
}

// A statement has one series, however its text comes to it, and none before it ran.
func TestStatementSeries(t *testing.T) {
	names.Store("SELECT 'a text that is known'", "owner/known")
	m := NewMetrics(prometheus.NewRegistry())
	if n := testutil.CollectAndCount(m.seconds); n != 0 || m.statement("SELECT 'a text that is known'").name != "owner/known" {
		t.Errorf("%d series before anything ran", n)
	}
	if m.statement("SELECT 1") != m.statement("SELECT 2") || m.statement("begin") != m.statement("BEGIN READ ONLY") || m.statement("begin") == m.statement("commit") {
		t.Error("one name has two series, or two names have one")
	}
	names.Store("SELECT 'a text that came later'", "owner/later")
	if got := m.statement("SELECT 'a text that came later'").name; got != "owner/later" {
		t.Errorf("it is called %s", got)
	}
}

// Without traces a caller's span is left alone; with them the statement's context is below it.
func TestObserverUntraced(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	ctx, root := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("t").Start(t.Context(), "root")
	defer root.End()
	for _, traced := range []bool{false, true} {
		o := observer{NewMetrics(prometheus.NewRegistry()), traced}
		of := o.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: "commit"})
		if below := trace.SpanFromContext(of) != root; below != traced {
			t.Errorf("traced %v: it has a span of its own: %v", traced, below)
		}
		o.TraceQueryEnd(of, nil, pgx.TraceQueryEndData{})
		if n := testutil.CollectAndCount(o.m.seconds); n != 1 {
			t.Errorf("traced %v: %d series", traced, n)
		}
	}
	if n := len(spans.Ended()); n != 1 {
		t.Errorf("%d spans", n)
	}
}

// What observing a statement costs, of the length of those that lease.
func BenchmarkObserver(b *testing.B) {
	text := "SELECT 'a long text'" + strings.Repeat(" ", 2000)
	names.Store(text, "owner/long")
	o := observer{NewMetrics(prometheus.NewRegistry()), false}
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		of := o.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: text})
		o.TraceQueryEnd(of, nil, pgx.TraceQueryEndData{})
	}
}
