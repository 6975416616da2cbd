package generator

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/shares"
)

func (w *world) shareID(t tb, path string) shares.ShareID {
	t.Helper()
	return shares.ShareID(one[int32](t, w.db, "SELECT id FROM shares WHERE path = $1", path))
}

// Tasks of a share move with all of their jobs that it has, running ones too. What it has of tasks of other
// shares, and what other shares have of its tasks, stays.
func TestMoveAhead(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Mark = broker.Mark{Floor: 200_000, Batch: 20_000}
	w.generateBy(cfg)
	f := &fleet{db: w}
	lease := func(n int) {
		steps(t, w.Generate)
		if got := f.lease(t, n); got != n {
			t.Fatalf("%d leased", got)
		}
		steps(t, w.Settle)
	}
	elsewhere := w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Test", 4 })).ID
	lease(4)
	w.reassign(t, "Prod/MC", false, elsewhere)
	behind := w.submit(t, managed(func(s *spec.Spec) { s.Count = 3 })).ID
	lease(3)
	w.reassign(t, "Prod/Rep", false, behind)
	const n = 510
	large := w.submit(t, managed(func(s *spec.Spec) { s.Count = n })).ID
	small := w.submit(t, managed(nil)).ID
	over := w.submit(t, managed(nil)).ID
	if _, err := w.Say(context.Background(), VerbKill, over, nil); err != nil {
		t.Fatal(err)
	}
	lease(4)
	mc, wide := w.shareID(t, "Prod/MC"), w.shareID(t, "Wide")
	if left, err := w.MoveAhead(context.Background(), mc, w.shareID(t, "Prod")); err != nil || !left {
		t.Errorf("to a share that is no leaf: left %v, %v", left, err)
	}
	for left := true; left; {
		var err error
		if left, err = w.MoveAhead(context.Background(), mc, wide); err != nil {
			t.Fatal(err)
		}
	}
	for _, is := range []struct {
		task        int64
		share, jobs string
	}{{elsewhere, "Wide", "Wide:leased=4"}, {behind, "Prod/Rep", "Prod/MC:leased=3"}, {large, "Wide", "Wide:leased=4 Wide:ready=506"},
		{small, "Wide", "Wide:ready=10"}, {over, "Prod/MC", ""}} {
		if task, jobs := w.task(t, is.task), w.sharesOf(t, is.task); task.Share != is.share || jobs != is.jobs {
			t.Errorf("task %d: share %s, jobs %s, want %s, %s", is.task, task.Share, jobs, is.share, is.jobs)
		}
	}
	if verdict := w.task(t, small).TaggedBy.Verdict; verdict == tags.Explicit {
		t.Errorf("the task counts as one that named its share: %s", verdict)
	}
	steps(t, w.Settle)
	w.recount(t)
}

// BenchmarkMoveAhead moves a hundred thousand running jobs of a hundred tasks: how long a batch takes, and what a
// job costs the server.
//
//	go test ./generator -run '^$' -bench MoveAhead -benchtime 1x
func BenchmarkMoveAhead(b *testing.B) {
	w := durableWorld(b)
	const tasks, jobs = 100, 1000
	for range tasks {
		w.submit(b, managed(func(s *spec.Spec) { s.Share, s.Count = "s0", jobs }))
	}
	steps(b, w.Generate)
	if n := (&fleet{db: w}).lease(b, tasks*jobs); n != tasks*jobs {
		b.Fatalf("%d leased", n)
	}
	steps(b, w.Settle)
	from, to := w.shareID(b, "s0"), w.shareID(b, "s1")
	before, slowest, batches := w.costs(b), time.Duration(0), 0
	for more := true; more; batches++ {
		var err error
		began := time.Now()
		if more, err = w.aheadBatch(b.Context(), from, to); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
	}
	b.ReportMetric(float64(batches), "batches")
	b.ReportMetric(slowest.Seconds()*1000, "ms-slowest-batch")
	b.ReportMetric((w.costs(b).server-before.server)*1e6/(tasks*jobs), "server-µs/job")
	w.fold(b)
	if n := one[int](b, w.db, "SELECT count(*) FROM leases_now WHERE share = $1", to); n != tasks*jobs {
		b.Fatalf("%d moved", n)
	}
}
