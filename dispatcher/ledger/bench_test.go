package ledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// lives are n grants, and their ends, as a busy site has them: a few shares and shapes, every pilot another.
func lives(n int) (grants, ends []entry.Entry) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	job := r.Int64N(1 << 32)
	for range n {
		job += 1 + r.Int64N(50)
		grants = append(grants, entry.Granted{Job: job, Attempt: 1, Nonce: r.Int64(), Task: 4000 + r.Int64N(20), Share: shares.ShareID(1 + r.IntN(30)),
			Shape: int32(1 + r.IntN(4)), Place: -500, Queue: shares.QueueID(1 + r.IntN(20)), Units: 1000,
			Pilot: fmt.Sprintf("pilot-%05d", r.IntN(20000)), Node: fmt.Sprintf("node-%04d", r.IntN(2500)), Request: id(1, r.Int64())})
		ends = append(ends, entry.Ended{Job: job, Attempt: 1, Outcome: entry.Finished, Next: entry.Over,
			CPUMilli: r.Int64N(1e6), MemoryMB: 1000 + r.Int64N(1000)})
	}
	return grants, ends
}

// An append of 85 grants, of their ends, and of both: what an entry costs PostgreSQL.
func BenchmarkAppend(b *testing.B) {
	grants, ends := lives(85)
	both := append(append([]entry.Entry{}, grants...), ends...)
	for name, entries := range map[string][]entry.Entry{"tick": {entry.Tick{}}, "grants": grants, "ends": ends, "both": both} {
		b.Run(name, func(b *testing.B) {
			table, db := ofTable(b, 1_000_000)
			last := grow(b, table, entry.Batch{}, 1, 50)
			walBefore, cpuBefore := wal(b, db), serverCPU(b, db)
			for b.Loop() {
				next := after(last, 1)
				next.Entries = entries
				if _, err := table.Append(b.Context(), next); err != nil {
					b.Fatal(err)
				}
				last = next
			}
			all := float64(b.N * len(entries))
			b.ReportMetric(float64(serverCPU(b, db)-cpuBefore)/1e3/all, "pg-µs/entry")
			b.ReportMetric(float64(wal(b, db)-walBefore)/all, "wal-B/entry")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/entry")
		})
	}
}

// The tail that a start reads: batches of 85 grants and their ends.
func BenchmarkRead(b *testing.B) {
	grants, ends := lives(85)
	table, db := ofTable(b, 1_000_000)
	last := grow(b, table, entry.Batch{}, 1, 1)
	for range 2000 {
		next := after(last, 1)
		next.Entries = append(append([]entry.Entry{}, grants...), ends...)
		if _, err := table.Append(b.Context(), next); err != nil {
			b.Fatal(err)
		}
		last = next
	}
	cpuBefore, n := serverCPU(b, db), 0
	for b.Loop() {
		for seq := int64(0); ; {
			page, err := table.Read(b.Context(), seq, 200)
			if err != nil {
				b.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, p := range page {
				n += len(p.Entries)
			}
			seq = page[len(page)-1].Seq
		}
	}
	b.ReportMetric(float64(serverCPU(b, db)-cpuBefore)/1e3/float64(n), "pg-µs/entry")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/entry")
}

// wal is how many bytes PostgreSQL has written to its log.
func wal(b *testing.B, db *pgxpool.Pool) (n int64) {
	b.Helper()
	if err := db.QueryRow(b.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// serverCPU is the processor time of the database's backends that are there now, in ns; 0 where /proc does not tell.
func serverCPU(b *testing.B, db *pgxpool.Pool) (sum int64) {
	b.Helper()
	var pids []int
	if err := db.QueryRow(b.Context(), "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database()").Scan(&pids); err != nil {
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
