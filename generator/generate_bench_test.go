package generator

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/migrations"
)

// BenchmarkGenerate makes 200,000 jobs over 100 shares and two workers on a durable server: what a job costs, in
// this process, in the server, and in its log. On a busy machine only the rate suffers.
//
//	go test ./generator -run '^$' -bench Generate -benchtime 1x
func BenchmarkGenerate(b *testing.B) {
	w := durableWorld(b)
	const jobs, workers = 200_000, 2
	for _, kind := range []struct {
		name string
		spec func(*spec.Spec)
	}{
		{"count", func(s *spec.Spec) { s.Count = jobs / 100 }},
		{"inputs", func(s *spec.Spec) {
			s.Count, s.Command = 0, []string{"/bin/reconstruct", "{{.Input}}"}
			for i := range jobs / 100 {
				s.Inputs = append(s.Inputs, spec.Input{Name: fmt.Sprintf("mc23_13p6TeV:AOD.38000000._%06d.pool.root.1", i)})
			}
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var made int
			var rates []float64
			var own, server, wal float64
			for range 3 * b.N {
				for share := range 100 {
					w.submit(b, managed(func(s *spec.Spec) { s.Share = fmt.Sprint("s", share); kind.spec(s) }))
				}
				before, began := w.costs(b), time.Now()
				group, ctx := errgroup.WithContext(context.Background())
				for range workers {
					group.Go(func() error {
						for n := 1; n > 0; {
							var err error
							if n, err = w.Generate(ctx); err != nil {
								return err
							}
						}
						return nil
					})
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
				steps(b, w.Generate) // what the last one left to the other
				after, took := w.costs(b), time.Since(began)
				made += jobs
				rates = append(rates, jobs/took.Seconds())
				own, server, wal = own+after.own-before.own, server+after.server-before.server, wal+after.wal-before.wal
			}
			var best float64
			for _, r := range rates {
				best = max(best, r)
			}
			if got := one[int](b, w.db, "SELECT sum(n_generated) FROM tasks"); got < made {
				b.Fatalf("%d of %d jobs", got, made)
			}
			b.ReportMetric(best, "jobs/s")
			b.ReportMetric(own*1e6/float64(made), "own-µs/job")
			b.ReportMetric(server*1e6/float64(made), "server-µs/job")
			b.ReportMetric(wal/float64(made), "wal-B/job")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// durableWorld is a world on a server whose commits are on disk, with a hundred shares and marks that want all.
func durableWorld(b *testing.B) *world {
	ctx := context.Background()
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cluster.Stop(ctx) })
	w := &world{}
	if w.db, err = pg.Open(ctx, cluster.DSN(), pg.MaxConns(8)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.db.Close)
	if _, err := migrations.Up(ctx, w.db); err != nil {
		b.Fatal(err)
	}
	var yaml strings.Builder
	yaml.WriteString("shares:\n")
	for i := range 100 {
		fmt.Fprintf(&yaml, "  - {name: s%d, weight: 1}\n", i)
	}
	yaml.WriteString("queues:\n  - {name: CERN, slots: 2000}\n")
	w.store = site.NewStore(site.Config{Pool: w.db, Hooks: hooks(nil)})
	w.book = newLogbook(w.db, w.store)
	w.exec(b, jobViews)
	w.apply(b, yaml.String())
	if _, err := intake.Extend(ctx, w.db, 10_000_000, 10_000_000); err != nil {
		b.Fatal(err)
	}
	cfg := w.config()
	cfg.Mark = broker.Mark{Floor: 1 << 40, Cap: 1 << 40}
	w.use(New(cfg))
	return w
}

// costs are CPU seconds and bytes of the write-ahead log so far.
type costs struct{ own, server, wal float64 }

func (w *world) costs(b *testing.B) costs {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return costs{
		own:    float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9,
		server: serverCPU(b, w.db),
		wal:    one[float64](b, w.db, "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8"),
	}
}

// serverCPU adds up the server's processes; 0 where /proc does not tell.
func serverCPU(b *testing.B, db *pgxpool.Pool) (seconds float64) {
	b.Helper()
	for pid := range strings.FieldsSeq(one[string](b, db, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity")) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] { // utime and stime, in hundredths
			n, _ := strconv.ParseFloat(f, 64)
			seconds += n / 100
		}
	}
	return seconds
}
