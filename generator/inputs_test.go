package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func streamed(s *spec.Spec) { s.Count, s.InputsStreamed, s.PerJob = 0, true, 3 }

func TestStreamedInputs(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	task := w.submit(t, managed(streamed))
	if task.State != "submitting" || task.Jobs.Total != 0 {
		t.Fatalf("submitted as %+v", task)
	}
	if _, err := w.Commit(ctx, task.ID); !errors.Is(err, spec.ErrInvalid) {
		t.Errorf("commit without inputs: %v", err)
	}
	next, err := w.AddInputs(ctx, task.ID, 0, strings.NewReader("\"a\"\n{\"name\": \"b\"}\n\n\"c\""))
	if err != nil || next != 3 {
		t.Fatalf("next %d, %v", next, err)
	}
	// A connection that breaks in the middle of a line: whole lines count.
	broken := io.MultiReader(strings.NewReader("\"d\"\n\"e"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if next, err = w.AddInputs(ctx, task.ID, 3, broken); next != 4 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("broken: next %d, %v", next, err)
	}
	_, err = w.AddInputs(ctx, task.ID, 3, strings.NewReader(`"d"`))
	var off *OffsetError
	if !errors.As(err, &off) || off.Want != 4 {
		t.Fatalf("wrong offset: %v", err)
	}
	if next, err = w.AddInputs(ctx, task.ID, 4, strings.NewReader("\"e\"\nf\n\"g\"")); next != 5 || !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), "inputs[5]") {
		t.Fatalf("bad line: next %d, %v", next, err)
	}
	for bad, want := range map[string]string{`""`: "is empty", `"a\nb"`: "line break", `{"nam": "x"}`: "unknown field",
		`"` + strings.Repeat("x", spec.MaxLine) + `"`: "more than 32768 bytes", `"` + strings.Repeat("x", spec.MaxInput+1) + `"`: "more than 4096 bytes"} {
		if next, err = w.AddInputs(ctx, task.ID, 5, strings.NewReader(bad)); next != 5 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: next %d, %v, want %q", bad, next, err, want)
		}
	}
	if n := steps(t, w.Generate); n != 0 {
		t.Errorf("%d jobs before the commit", n)
	}
	for range 2 { // a repeat changes nothing
		if task, err = w.Commit(ctx, task.ID); err != nil || task.State != "ready" || task.Jobs.Total != 2 {
			t.Fatalf("committed as %+v, %v", task, err)
		}
	}
	if _, err = w.AddInputs(ctx, task.ID, 5, strings.NewReader(`"late"`)); !errors.Is(err, judge.ErrState) {
		t.Errorf("inputs after the commit: %v", err)
	}
	if _, err = w.AddInputs(ctx, 1<<40, 0, strings.NewReader(`"x"`)); !errors.Is(err, view.ErrNoTask) {
		t.Errorf("unknown task: %v", err)
	}
	steps(t, w.Generate)
	got := jobs[string](t, w, "SELECT string_agg(array_to_string(inputs, '+'), ' ' ORDER BY idx) FROM live_jobs WHERE task_id = $1", task.ID)
	if got != "a+b+c d+e" {
		t.Errorf("inputs of the jobs: %s", got)
	}
}

// lines is a stream of n inputs that never exists as a whole.
type lines struct {
	n, at int
	buf   bytes.Buffer
}

func (l *lines) Read(p []byte) (int, error) {
	for l.buf.Len() < len(p) && l.at < l.n {
		fmt.Fprintf(&l.buf, "\"root://store/data/campaign-23/file-%09d.root\"\n", l.at)
		l.at++
	}
	return l.buf.Read(p)
}

// A million inputs take bounded memory and little time.
func TestMillionInputs(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	w := newWorld(t)
	task := w.submit(t, managed(streamed))
	start := time.Now()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	next, err := w.AddInputs(context.Background(), task.ID, 0, &lines{n: n})
	if err != nil || next != int64(n) {
		t.Fatalf("next %d, %v", next, err)
	}
	if task, err = w.Commit(context.Background(), task.ID); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// What other tests took before is theirs; the race detector's shadow is nobody's.
	grown := int64(after.Sys-before.Sys) >> 20
	t.Logf("%d inputs in %v, %d MB more from the system", n, time.Since(start).Round(time.Millisecond), grown)
	if grown > 128 && !pgtest.Raced {
		t.Errorf("%d MB", grown)
	}
	t.Logf("%s on disk", one[string](t, w.db, "SELECT pg_size_pretty(pg_total_relation_size('inputs'))"))
	if stored := one[int](t, w.db, "SELECT coalesce(sum(cardinality(names)), 0)::bigint FROM inputs"); stored != n || task.Jobs.Total != spec.Ceil(int64(n), 3) {
		t.Errorf("%d stored, %d jobs", stored, task.Jobs.Total)
	}
}

// Each input comes to its job, whatever runs they were stored in and whatever batches they are read in.
func TestInputsInRunsAndBatches(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.mark(broker.Mark{Floor: 10_000, Batch: 333})
	task := w.submit(t, managed(streamed))
	next := int64(0)
	for _, n := range []int{1, 999, 2500, 1} {
		var body strings.Builder
		for i := range n {
			fmt.Fprintf(&body, "%q\n", fmt.Sprint(next+int64(i)))
		}
		var err error
		if next, err = w.AddInputs(ctx, task.ID, next, strings.NewReader(body.String())); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(ctx, task.ID); err != nil {
		t.Fatal(err)
	}
	if n := steps(t, w.Generate); n != 1167 {
		t.Errorf("%d jobs", n)
	}
	wrong := jobs[int](t, w, `SELECT count(*) FROM live_jobs
		WHERE inputs IS DISTINCT FROM (SELECT array_agg(i::text) FROM generate_series(idx * 3, least(idx * 3 + 2, 3500)) i)`)
	if wrong != 0 {
		t.Errorf("%d jobs have other inputs", wrong)
	}
}

func TestEncodeInputs(t *testing.T) {
	var out bytes.Buffer
	n, err := spec.EncodeInputs(&out, strings.NewReader("a\r\n\n b \"<c>\"\nd"), spec.NamesFormat, 1)
	if err != nil || n != 2 || out.String() != "\" b \\\"<c>\\\"\"\n\"d\"\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
	if _, err := spec.EncodeInputs(&out, strings.NewReader("a\nb\x00"), spec.NamesFormat, 0); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("zero byte: %v", err)
	}
}
