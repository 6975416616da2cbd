package generator

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/divvyhq/divvy/generator/spec"
)

// BenchmarkChainOfAMillion is what it takes to follow a task of a million jobs piece by piece: once when all have ended, in any
// order of their indexes, but for the first, so that nothing is over; and once more, when nothing new has ended, as a round
// behind a job that takes long.
//
//	go test ./generator -run '^$' -bench ChainOfAMillion -benchtime 1x
//
// DIVVY_BENCH_JOBS is the number of jobs, 1,000,000 if it is not there.
func BenchmarkChainOfAMillion(b *testing.B) {
	jobs := int64(1_000_000)
	if n, err := strconv.ParseInt(os.Getenv("DIVVY_BENCH_JOBS"), 10, 64); err == nil {
		jobs = n
	}
	w := newWorld(b)
	ctx := context.Background()
	first := w.submit(b, managed(func(s *spec.Spec) { s.Count = jobs })).ID
	second := w.submit(b, managed(func(s *spec.Spec) { s.Count, s.Needs = jobs, []spec.Need{{Task: first, Per: "input"}} })).ID
	w.madeOf(b, first, jobs)
	w.endedOf(b, first, 2, jobs)
	w.exec(b, "ANALYZE")
	for _, round := range []string{"all-jobs/s", "nothing-new-jobs/s"} {
		began := time.Now()
		for {
			n, err := w.Chain(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		b.ReportMetric(float64(jobs)/time.Since(began).Seconds(), round)
		if _, err := w.db.Exec(ctx, "UPDATE task_needs SET seen = 0 WHERE task_id = $1", second); err != nil {
			b.Fatal(err)
		}
	}
	var released int64
	if err := w.db.QueryRow(ctx, "SELECT n_released FROM tasks WHERE id = $1", second).Scan(&released); err != nil || released != jobs-1 {
		b.Fatalf("%d pieces may be jobs, want %d: %v", released, jobs-1, err)
	}
	b.ReportMetric(0, "ns/op")
}
