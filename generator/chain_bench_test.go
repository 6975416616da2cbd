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
	w.fold(b)
	for _, sql := range []string{
		`INSERT INTO jobs (id, idx) SELECT i + 1, i::bigint * 7919 % $2 FROM generate_series(0, $2::bigint - 1) i WHERE $1::bigint > 0`,
		`INSERT INTO job_blocks (low, high, task_id, share_id, shape_id, priority, max_attempts, again)
			SELECT i + 1, least(i + 5000, $2::bigint), id, share_id, shape_id, 0, 3, false FROM tasks, generate_series(0, $2::bigint - 1, 5000) i WHERE id = $1`,
		`INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb,
			outcome, state, pilot, node)
			SELECT i + 1, 1, id, 1000, now(), now(), 0, 1, share_id, shape_id, 1, 0, 0, 0, 'f', 'f', 'p', 'n'
			FROM tasks, generate_series(1, $2::bigint - 1) i WHERE id = $1`,
		`INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state)
			SELECT 1, 1, id, 0, share_id, shape_id, 1, 'r' FROM tasks WHERE id = $1 AND $2::bigint > 0`,
		`INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
			VALUES ($1, 1, 0, 0, 0, $2::bigint - 1, 0, 0, 'alice')`,
		`UPDATE tasks SET state = 'running', n_generated = n_jobs, n_split = n_jobs, started_at = now() WHERE id = $1 AND $2::bigint > 0`,
		`ANALYZE`,
	} {
		args := []any{first, jobs}
		if sql == "ANALYZE" {
			args = nil
		}
		if _, err := w.db.Exec(ctx, sql, args...); err != nil {
			b.Fatal(sql, err)
		}
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
