package intake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
)

// A million jobs in calls of some size, without inputs and with one each: what the database takes in a second, and what a job costs of
// WAL and of disk.
func BenchmarkEnqueue(b *testing.B) {
	for _, batch := range []int{5_000, 1_000_000} {
		for _, inputs := range []int{0, 1} {
			b.Run(fmt.Sprintf("%d/inputs=%d", batch, inputs), func(b *testing.B) {
				h := newHouse(b, 20_000_000, 1_000_000)
				shape := h.shape(b, 1)
				jobs := some(batch, intake.NewJob{Task: 1, Share: 1, Shape: shape})
				for i := range jobs {
					if inputs > 0 {
						jobs[i].Inputs = []string{fmt.Sprintf("mc23_13p6TeV/AOD.%08d._%06d.pool.root.1", i*7919, i)}
					}
				}
				const wal = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
				const disk = "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent IN ('jobs'::regclass, 'job_blocks'::regclass)"
				h.exec("CHECKPOINT")
				walBefore, diskBefore, n := one[int64](b, h, wal), one[int64](b, h, disk), 0
				var took time.Duration
				for b.Loop() {
					began := time.Now()
					for made := 0; made < 1_000_000; made += batch {
						h.in(b, func(tx pgx.Tx) error {
							_, err := intake.Enqueue(b.Context(), tx, jobs)
							return err
						})
					}
					took += time.Since(began)
					n += 1_000_000
				}
				b.ReportMetric(float64(n)/took.Seconds(), "jobs/s")
				b.ReportMetric(float64(one[int64](b, h, wal)-walBefore)/float64(n), "WAL-B/job")
				b.ReportMetric(float64(one[int64](b, h, disk)-diskBefore)/float64(n), "disk-B/job")
			})
		}
	}
}
