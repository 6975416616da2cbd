package fold

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
)

const (
	batchSize  = 85
	benchTasks = 20
)

// site makes batches as a busy site has them: 85 grants, and 85 ends of grants of so many batches before. Tasks have a share each,
// their ids come in ranges.
type site struct {
	log   ledger.Log
	last  entry.Batch
	next  [benchTasks]int64 // the next id of a task
	open  [][]entry.Granted // by batch
	after int               // how many batches a lease lasts
	r     *rand.Rand
}

func newSite(b *testing.B, log ledger.Log, after int) *site {
	b.Helper()
	s := &site{log: log, after: after, r: rand.New(rand.NewPCG(1, 2))}
	first := []entry.Entry{entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}}
	for i := range int64(benchTasks) {
		low := 1 + i*10_000_000
		s.next[i] = low
		first = append(first, entry.Enqueued{Task: 4000 + i, Share: shares.ShareID(1 + i), Shape: 1, Place: -500, Low: low, High: low + 9_999_999,
			Attempt: 1, User: fmt.Sprintf("user-%d", i%7)})
	}
	s.append(b, first)
	return s
}

func (s *site) append(b *testing.B, entries []entry.Entry) {
	b.Helper()
	next := entry.Batch{Seq: s.last.Seq + 1, After: s.last.ID, By: 1, Entries: entries}
	next.ID = entry.ID{0: 1, 12: byte(next.Seq >> 24), 13: byte(next.Seq >> 16), 14: byte(next.Seq >> 8), 15: byte(next.Seq)}
	if _, err := s.log.Append(b.Context(), next); err != nil {
		b.Fatal(err)
	}
	s.last = next
}

// batch appends one more batch.
func (s *site) batch(b *testing.B) {
	b.Helper()
	var entries []entry.Entry
	var grants []entry.Granted
	for range batchSize {
		i := s.r.Int64N(benchTasks)
		g := entry.Granted{Job: s.next[i], Attempt: 1, Nonce: s.r.Int64(), Task: 4000 + i, Share: shares.ShareID(1 + i), Shape: 1, Place: -500,
			Queue: shares.QueueID(1 + s.r.IntN(20)), Units: 1000, Pilot: fmt.Sprintf("pilot-%05d", s.r.IntN(20000)), Node: fmt.Sprintf("node-%04d", s.r.IntN(2500)),
			Request: entry.ID{0: 1, 15: byte(i)}}
		s.next[i]++
		grants, entries = append(grants, g), append(entries, g)
	}
	if s.open = append(s.open, grants); len(s.open) > s.after {
		for _, g := range s.open[0] {
			entries = append(entries, entry.Ended{Job: g.Job, Attempt: 1, Outcome: entry.Finished, Next: entry.Over, CPUMilli: s.r.Int64N(1e6), MemoryMB: 1000 + s.r.Int64N(1000)})
		}
		s.open = s.open[1:]
	}
	s.append(b, entries)
}

// A life that is appended and folded: what it costs PostgreSQL, and how much its history takes. Leases last less than a step, or
// ten of them; steps have so many batches.
func BenchmarkLife(b *testing.B) {
	for _, c := range []struct {
		name        string
		after, step int
		without     []string // what is left out, to see what it costs
	}{
		{"short/step=8", 2, 8, nil},
		{"short/step=24", 2, 24, nil},
		{"short/step=48", 2, 48, nil},
		{"short/step=200", 2, 200, nil},
		{"long/step=24", 240, 24, nil},
		{"long/step=200", 240, 200, nil},
		{"short/step=24/no-job-index", 2, 24, []string{"DROP INDEX history_job"}},
		{"short/step=24/task-index", 2, 24, []string{"CREATE INDEX ON history (task)"}},
		{"short/step=24/no-indexes", 2, 24, []string{"DROP INDEX history_job", "DROP INDEX history_ended"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := newFixture(b)
			for _, sql := range c.without {
				if _, err := f.pool.Exec(b.Context(), sql); err != nil {
					b.Fatal(err)
				}
			}
			log := ledger.New(f.pool)
			if _, err := log.Extend(b.Context(), 1_000_000, 1_000_000); err != nil {
				b.Fatal(err)
			}
			folder, s := New(f.pool, log, nil), newSite(b, log, c.after)
			step := func() {
				for range c.step {
					s.batch(b)
				}
				if r, err := folder.Fold(b.Context(), c.step); err != nil || r.Odds > 0 {
					b.Fatal(r.Odd, err)
				}
			}
			for range 2 + c.after/c.step {
				step()
			}
			exec(b, f.pool, "CHECKPOINT")
			step() // full pages
			lives, walBefore, cpuBefore, sizeBefore := 0, wal(b, f.pool), serverCPU(b, f.pool), historySize(b, f.pool)
			for b.Loop() {
				step()
				lives += c.step * batchSize
			}
			n := float64(lives)
			b.ReportMetric(float64(serverCPU(b, f.pool)-cpuBefore)/1e3/n, "pg-µs/life")
			b.ReportMetric(float64(wal(b, f.pool)-walBefore)/n, "wal-B/life")
			b.ReportMetric(float64(historySize(b, f.pool)-sizeBefore)/n, "disk-B/life")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/n, "µs/life")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// What a start reads: a million leases, a hundred thousand ranges of ten million jobs.
func BenchmarkLoad(b *testing.B) {
	f := newFixture(b)
	exec(b, f.pool, `INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason)
		SELECT i * 3, i, i::bigint * 7919, 4000 + i % 1000, -500, 1000, now(), gen_random_uuid(), 1, 1 + i % 1000, 1 + i % 50, 1 + i % 20, 1, 0, 0, 'pilot-' || i % 60000, 'node-' || i % 2500, ''
		FROM generate_series(1, 1000000) AS i`)
	exec(b, f.pool, `INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state)
		SELECT 10000000 + i * 100, 10000000 + i * 100 - 99, 4000 + i % 1000, -500, 1 + i % 1000, 1 + i % 50, 1, 'r' FROM generate_series(1, 100000) AS i`)
	exec(b, f.pool, "VACUUM ANALYZE held, idle_ranges")
	leases := make([]Holding, 0, 1_000_000)
	ranges := make([]Range, 0, 100_000)
	for name, sink := range map[string]Sink{"held": {Lease: func(l Holding) { leases = append(leases, l) }}, "ranges": {Range: func(r Range) { ranges = append(ranges, r) }}} {
		b.Run(name, func(b *testing.B) {
			cpuBefore := serverCPU(b, f.pool)
			for b.Loop() {
				leases, ranges = leases[:0], ranges[:0]
				if _, err := Load(b.Context(), f.pool, sink); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(leases)+len(ranges)), "rows")
			b.ReportMetric(float64(serverCPU(b, f.pool)-cpuBefore)/1e6/float64(b.N), "pg-ms/op")
		})
	}
	var size string
	if err := f.pool.QueryRow(b.Context(), "SELECT pg_size_pretty(pg_total_relation_size('held')) || ', ' || pg_size_pretty(pg_total_relation_size('idle_ranges'))").Scan(&size); err != nil {
		b.Fatal(err)
	}
	b.Log("held, ranges:", size)
}

func exec(b *testing.B, db *pgxpool.Pool, sql string) {
	b.Helper()
	if _, err := db.Exec(b.Context(), sql); err != nil {
		b.Fatal(err)
	}
}

// wal is how many bytes PostgreSQL has written to its log.
func wal(b *testing.B, db *pgxpool.Pool) (n int64) {
	b.Helper()
	if err := db.QueryRow(b.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// historySize is what history takes with its indexes.
func historySize(b *testing.B, db *pgxpool.Pool) (n int64) {
	b.Helper()
	if err := db.QueryRow(b.Context(), "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'history'::regclass").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// serverCPU is the processor time of the database's backends that are there now, in ns; 0 where /proc does not tell.
func serverCPU(b *testing.B, db *pgxpool.Pool) (sum int64) {
	b.Helper()
	var pids []int
	if err := db.QueryRow(context.WithoutCancel(b.Context()), "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'").Scan(&pids); err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if first, _, ok := bytes.Cut(text, []byte(" ")); ok {
			n, _ := strconv.ParseInt(string(first), 10, 64)
			sum += n
		}
	}
	return sum
}
