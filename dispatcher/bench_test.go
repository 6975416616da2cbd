package dispatcher

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/start"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// siteOf makes so many leaves in three levels, and so many queues in one pool.
func siteOf(leaves, queues int) shares.Version {
	var top []shares.Spec
	for i := range 5 {
		s := shares.Spec{Name: fmt.Sprintf("a%d", i), Plan: shares.DefaultPlan()}
		for k := range 4 {
			m := shares.Spec{Name: fmt.Sprintf("b%d", k), Plan: shares.DefaultPlan()}
			for l := range leaves / 20 {
				plan := shares.DefaultPlan()
				plan.Weight = float64(1 + (i+k+l)%7)
				m.Children = append(m.Children, shares.Spec{Name: fmt.Sprintf("c%d", l), Plan: plan})
			}
			s.Children = append(s.Children, m)
		}
		top = append(top, s)
	}
	tree, err := shares.Build(top)
	if err != nil {
		panic(err)
	}
	next := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { next++; return next })
	v := shares.Version{Number: 1, Tree: tree}
	for i := range queues {
		n := 1_000_000
		v.Queues = append(v.Queues, shares.Queue{ID: shares.QueueID(i + 1), Name: fmt.Sprintf("q%d", i), Pool: "main", State: shares.Online, Slots: &n, CorePowerMilli: 1000, Cores: 8})
	}
	return v
}

// stage is a dispatcher that leads, on a database of its own.
type stage struct {
	*Dispatcher
	db     *pgxpool.Pool
	outbox *outbox
	render func(context.Context, []machine.Lease) ([]Run, error)
	stop   func()
}

func newStage(tb testing.TB, v shares.Version) *stage {
	s := newTables(tb)
	s.open(tb, v)
	return s
}

// newTables is a stage without a dispatcher.
func newTables(tb testing.TB) *stage {
	db := pgtest.Open(tb)
	return &stage{db: db, outbox: &outbox{db: db, rows: map[int64][]entry.Entry{}}}
}

func (s *stage) open(tb testing.TB, v shares.Version) {
	d, err := Open(tb.Context(), Config{Pool: s.db, Outbox: s.outbox, End: lease.Retried(3), Render: s.render, Alone: func() bool { return true },
		Daemon: time.Now().UnixNano(), Site: func(context.Context, int64) (shares.Version, error) { return v, nil }})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	s.Dispatcher, s.stop = d, func() { cancel(); all.Wait() }
}

// must writes a row, and waits until there are few.
func (s *stage) must(tb testing.TB, entries ...entry.Entry) {
	tb.Helper()
	s.outbox.write(tb, entries...)
	s.Written()
	s.outbox.await(tb, 20)
}

func (s *stage) stock(tb testing.TB, v shares.Version, jobs int) {
	for i, cores := range []int{1, 1, 4, 8} {
		s.must(tb, entry.Shaped{Shape: int32(i + 1), Need: job.Requirements{Cores: cores, MemoryMB: int64(i) * 100}})
	}
	s.must(tb, entry.Adopted{Number: 1, Site: &v})
	leaves, id := v.Tree.Leaves(), int64(1)
	var entries []entry.Entry
	for k := 0; k*1000 < jobs; k++ {
		entries = append(entries, entry.Enqueued{Task: int64(k % 5000), Share: v.Tree.Nodes[leaves[k%len(leaves)]].ID, Shape: int32(k/len(leaves)%4 + 1), Place: int64(-(k % 3)),
			Low: id, High: id + 999, Attempt: 1, User: fmt.Sprint("user", k%5000%100)})
		if id += 1000; len(entries) == 1000 {
			s.must(tb, entries...)
			entries = nil
		}
	}
	if len(entries) > 0 {
		s.must(tb, entries...)
	}
	s.outbox.await(tb, 0)
}

func pullOf(n, queues int) machine.Pull {
	return machine.Pull{Queue: shares.QueueID(n%queues + 1), Slot: job.Slot{Cores: 8}, Most: 1, Pilot: fmt.Sprintf("pilot-%d", n%20000), Node: fmt.Sprintf("node-%d", n%2500), Nonce: int64(n)}
}

// folding folds until it is told to stop, with a rest between two steps.
func (s *stage) folding(tb testing.TB) (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			if _, err := s.Fold(context.Background(), 400); err != nil {
				tb.Error(err)
				return
			}
			select {
			case <-done:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	return func() { close(done); all.Wait() }
}

// own is the processor time of this process.
func own() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// server is the processor time of the database's backends.
func server(tb testing.TB, db *pgxpool.Pool) (sum time.Duration) {
	var pids []int
	if err := db.QueryRow(tb.Context(), "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database()").Scan(&pids); err != nil {
		tb.Fatal(err)
	}
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if first, _, ok := bytes.Cut(text, []byte(" ")); ok {
			n, _ := strconv.ParseInt(string(first), 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

// floor is one claim a transaction, as a queue of one table makes it: FOR UPDATE SKIP LOCKED and an UPDATE.
func floor(b *testing.B, db *pgxpool.Pool, pullers int, length time.Duration) float64 {
	for _, sql := range []string{"CREATE TABLE IF NOT EXISTS floor_jobs (id bigserial PRIMARY KEY, state int NOT NULL DEFAULT 0, body text NOT NULL)",
		"CREATE INDEX IF NOT EXISTS floor_jobs_ready ON floor_jobs (id) WHERE state = 0", "INSERT INTO floor_jobs (body) SELECT repeat('x', 300) FROM generate_series(1, 200000)"} {
		if _, err := db.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	var n atomic.Int64
	ctx, cancel := context.WithTimeout(b.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for range pullers {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.Exec(ctx, "UPDATE floor_jobs SET state = 1 WHERE id = (SELECT id FROM floor_jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)"); err == nil {
					n.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(n.Load()) / length.Seconds()
}

// Claims in process, one job a pull, 256 pullers; in /life each is renewed and finished. Beside it the floor, in the same run.
func BenchmarkPull(b *testing.B) {
	for _, life := range []bool{false, true} {
		b.Run(map[bool]string{false: "claim", true: "life"}[life], func(b *testing.B) {
			const pullers = 256
			v := siteOf(100, 20)
			s := newStage(b, v)
			defer s.stop()
			s.stock(b, v, 4_000_000)
			defer s.folding(b)()
			low := floor(b, s.db, 32, 2*time.Second)
			cpu, pg := own(), server(b, s.db)
			began := time.Now()
			var n atomic.Int64
			var all sync.WaitGroup
			waits := make([][]time.Duration, pullers)
			for i := range pullers {
				all.Go(func() {
					for {
						k := n.Add(1)
						if k > int64(b.N) {
							return
						}
						at := time.Now()
						leases, err := s.pull(context.Background(), pullOf(int(k), 20), time.Second)
						waits[i] = append(waits[i], time.Since(at))
						if err != nil {
							b.Errorf("pull %d: %v", k, err)
							return
						}
						if !life {
							continue
						}
						key := lease.Key{Job: leases[0].Job, Attempt: leases[0].Attempt, Nonce: leases[0].Nonce}
						if _, err := s.renew(context.Background(), []lease.Renewal{{Key: key, Started: true}}); err != nil {
							b.Error(err)
							return
						}
						if _, err := s.finish(context.Background(), []lease.End{{Key: key, Outcome: entry.Finished}}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			took := time.Since(began)
			rate := float64(b.N) / took.Seconds()
			b.ReportMetric(rate, "jobs/s")
			b.ReportMetric(low, "floor/s")
			b.ReportMetric(rate/low, "x-floor")
			b.ReportMetric(float64((own()-cpu).Microseconds())/float64(b.N), "own-µs")
			b.ReportMetric(float64((server(b, s.db)-pg).Microseconds())/float64(b.N), "pg-µs")
			b.ReportMetric(float64(p99(waits).Microseconds())/1000, "p99-ms")
			runtime.KeepAlive(s)
		})
	}
}

func p99(all [][]time.Duration) time.Duration {
	var list []time.Duration
	for _, l := range all {
		list = append(list, l...)
	}
	if len(list) == 0 {
		return 0
	}
	for i := range list { // a selection would do; it is a benchmark
		_ = i
	}
	return percentile(list, 99)
}

func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[len(list)*p/100]
}

// From the tables of 10 M ready jobs and 1 M leases to a machine that has them, and what it takes of memory.
func BenchmarkStart(b *testing.B) {
	v := siteOf(100, 20)
	s := newStage(b, v)
	defer func() { s.stop() }()
	began := time.Now()
	s.stock(b, v, 11_000_000)
	b.Logf("stocked after %s", time.Since(began))
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			p := pullOf(i, 20)
			p.Slot.Cores, p.Most = 0, 8
			for n := 0; n < 1_000_000/64; {
				p.Pilot, p.Nonce = fmt.Sprintf("pilot-%d", n+i*20000), int64(n+i)
				leases, err := s.pull(context.Background(), p, time.Second)
				if err != nil {
					b.Error(err)
					return
				}
				n += len(leases)
			}
		})
	}
	all.Wait()
	b.Logf("held after %s", time.Since(began))
	for n := 1; n > 0; {
		var err error
		if n, err = s.Fold(b.Context(), 400); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("folded after %s", time.Since(began))
	s.stop()
	s.stop = func() {}
	d, err := Open(b.Context(), Config{Pool: s.db, Outbox: s.outbox, Daemon: 2, Site: func(context.Context, int64) (shares.Version, error) { return v, nil }})
	if err != nil {
		b.Fatal(err)
	}
	s.Dispatcher = nil
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		m, _, err := start.Load(b.Context(), s.db, d.cfg.Site, d.cfg.Machine)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(m)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
}
