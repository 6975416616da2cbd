package pg

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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
	o := observer{NewMetrics(reg)}
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
