package dispatcher

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
	"github.com/divvyhq/divvy/shares"
)

// BenchmarkClaims measures claims of one job a pull, in process, with 100 k ready jobs over 100 shares in three
// levels and 20 queues, against what pgbench reaches with one claim a transaction on the same durable server:
// the ratio is what counts, both suffer alike from a busy machine.
//
//	go test ./dispatcher -run '^$' -bench Claims -benchtime 1x
func BenchmarkClaims(b *testing.B) {
	pool, dsn := durable(b)
	f := benchSite(b, pool)
	floor := newFloor(b, pool, dsn)
	for _, pullers := range []int{64, 256} {
		b.Run(fmt.Sprint(pullers), func(b *testing.B) {
			var floors, claims []float64
			for range 3 * b.N { // in turn, so that other work on the machine falls on both
				floors = append(floors, floor.measure(b))
				claims = append(claims, f.claimFor(3*time.Second/2, pullers))
			}
			b.ReportMetric(median(claims), "claims/s")
			b.ReportMetric(median(floors), "floor/s")
			b.ReportMetric(median(claims)/median(floors), "ratio")
		})
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// durable starts a private cluster with fsync and synchronous_commit on.
func durable(b *testing.B) (*pgxpool.Pool, string) {
	ctx := context.Background()
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cluster.Stop(ctx) })
	pool, err := pg.Open(ctx, cluster.DSN(), pg.MaxConns(16))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	if _, err := migrations.Up(ctx, pool); err != nil {
		b.Fatal(err)
	}
	return pool, cluster.DSN()
}

const benchReady = 100_000

func benchSite(b *testing.B, pool *pgxpool.Pool) *fixture {
	var root []shares.Spec
	for i := range 4 {
		var middle []shares.Spec
		for j := range 5 {
			var leaves []shares.Spec
			for k := range 5 {
				leaves = append(leaves, node(fmt.Sprint("s", k), float64(1+k)))
			}
			middle = append(middle, node(fmt.Sprint("m", j), float64(1+j), leaves...))
		}
		root = append(root, node(fmt.Sprint("a", i), float64(1+i), middle...))
	}
	var queues []shares.Queue
	for i := range 20 {
		queues = append(queues, slots(fmt.Sprint("q", i), 1_000_000))
	}
	return newFixtureOn(b, pool, root, queues...)
}

// floor is one claim a transaction, as a careful SQL queue does it, by pgbench.
type floor struct {
	program, script, dsn string
}

func newFloor(b *testing.B, pool *pgxpool.Pool, dsn string) *floor {
	b.Helper()
	ctx := context.Background()
	for _, sql := range []string{
		"CREATE TABLE floor_jobs (id bigint PRIMARY KEY, share int, state text, priority int, worker int, at timestamptz, body text)",
		"INSERT INTO floor_jobs SELECT i, i % 100, 'ready', 0, 0, now(), repeat('x', 300) FROM generate_series(1, 2000000) i",
		"CREATE INDEX ON floor_jobs (share, priority, id) WHERE state = 'ready'",
		"VACUUM ANALYZE floor_jobs",
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			b.Fatal(err)
		}
	}
	program, _, err := pg.Program(ctx, "pgbench")
	if err != nil {
		b.Fatal(err)
	}
	script := filepath.Join(b.TempDir(), "claim.sql")
	sql := `\set share random(0, 99)
UPDATE floor_jobs SET state = 'leased', worker = :client_id, at = now() WHERE id = (
SELECT id FROM floor_jobs WHERE share = :share AND state = 'ready' ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED);
`
	if err := os.WriteFile(script, []byte(sql), 0o644); err != nil {
		b.Fatal(err)
	}
	return &floor{program, script, dsn}
}

// measure is the better of 8 and 32 clients, claims a second.
func (f *floor) measure(b *testing.B) (best float64) {
	b.Helper()
	for _, clients := range []string{"8", "32"} {
		out, err := exec.Command(f.program, "-n", "-M", "prepared", "-c", clients, "-j", "2", "-T", "2", "-f", f.script, f.dsn).CombinedOutput()
		m := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
		if err != nil || m == nil {
			b.Fatalf("pgbench: %v\n%s", err, out)
		}
		tps, _ := strconv.ParseFloat(string(m[1]), 64)
		best = max(best, tps)
	}
	return best
}

// claimFor pulls with so many pullers over all queues for a while; what was claimed is filled up before.
func (f *fixture) claimFor(d time.Duration, pullers int) (perSecond float64) {
	f.t.Helper()
	leaves := f.version.Tree.Leaves()
	f.exec("TRUNCATE jobs, leases, ledger, counters, counter_lanes, limit_lanes")
	f.apply(func(*shares.Version) {})
	for _, leaf := range leaves {
		f.enqueue(batch{share: f.version.Tree.Nodes[leaf].Path, n: benchReady / len(leaves)})
	}
	f.exec("VACUUM ANALYZE jobs")
	daemon, stop := f.runDaemon()
	defer stop()
	var n atomic.Int64
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	start := time.Now()
	var all sync.WaitGroup
	for i := range pullers {
		all.Go(func() {
			req := PullRequest{Queue: fmt.Sprint("q", i%20), Pilot: fmt.Sprint("p", i), Slot: Slot{Cores: 1}, WaitS: 1}
			for ctx.Err() == nil {
				if reply, err := daemon.Pull(context.Background(), req); err == nil {
					n.Add(int64(len(reply.Leases)))
				}
			}
		})
	}
	all.Wait()
	perSecond = float64(n.Load()) / time.Since(start).Seconds()
	if n.Load() > benchReady*9/10 {
		f.t.Fatalf("%d of %d jobs were claimed: too few to measure by", n.Load(), benchReady)
	}
	f.recount()
	return perSecond
}
