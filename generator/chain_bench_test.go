package generator

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"
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
	first := w.submit(b, managed(func(s *Spec) { s.Count = jobs })).ID
	second := w.submit(b, managed(func(s *Spec) { s.Count, s.Needs = jobs, []Need{{Task: first, Per: "input"}} })).ID
	_, err := w.db.Exec(ctx, `INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, created_at)
		SELECT i + 1, t.id, t.share_id, t.shape_id, 0, 'finished', 1, 3, i::bigint * 7919 % $2, now() FROM tasks t, generate_series(1, $2::bigint - 1) i WHERE t.id = $1`, first, jobs)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.db.Exec(ctx, `INSERT INTO jobs (id, task_id, share_id, shape_id, place, priority, max_attempts, idx)
		SELECT 1, id, share_id, shape_id, 0, 0, 3, 0 FROM tasks WHERE id = $1`, first); err != nil {
		b.Fatal(err)
	}
	if _, err := w.db.Exec(ctx, `UPDATE tasks SET state = 'running', n_generated = n_jobs, n_split = n_jobs, n_leased = 1, n_finished = n_jobs - 1, started_at = now()
		WHERE id = $1`, first); err != nil {
		b.Fatal(err)
	}
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
