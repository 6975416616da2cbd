package dispatcher

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// BenchmarkLiveClaims is what live claims of two jobs each cost, half of them bound, the others pending: a tenth of what a
// site has at the most, and that. A pull costs the same. Run it with -benchtime 1x.
func BenchmarkLiveClaims(b *testing.B) {
	for _, c := range []struct{ claims, nodes int }{{10_000, 500}, {100_000, 5_000}} {
		b.Run(fmt.Sprintf("%d claims, %d nodes", c.claims, c.nodes), func(b *testing.B) {
			for range b.N {
				benchLiveClaims(b, c.claims, c.nodes)
			}
		})
	}
}

func benchLiveClaims(b *testing.B, nClaims, nNodes int) {
	ctx := context.Background()
	f := newFixture(b, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 1_000_000))
	f.liveClaims(nClaims, nNodes)
	before := heapNow()
	began := time.Now()
	d, err := Open(ctx, Config{Pool: f.pool, Load: f.load})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "s/open")
	began = time.Now()
	d.state.claims.since = beforeAll
	if err := d.readClaims(ctx); err != nil {
		b.Fatal(err)
	}
	if len(d.state.claims.by) != nClaims {
		b.Fatalf("%d claims", len(d.state.claims.by))
	}
	b.ReportMetric(time.Since(began).Seconds(), "s/read")
	b.ReportMetric(float64(heapNow()-before)/float64(nClaims), "B/claim")
	began = time.Now()
	const looks = 20
	for range looks {
		if err := d.readClaims(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(time.Since(began).Seconds()*1000/looks, "ms/look")
	began = time.Now()
	for range looks {
		if _, err := d.TendClaims(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(time.Since(began).Seconds()*1000/looks, "ms/tend")
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(running) }()
	defer func() { stop(); <-done; _ = d.Close(ctx) }()
	for round := range 2 { // the first reads the windows
		spent := cpu()
		began = time.Now()
		for i := range nNodes {
			req := slotAt("q", fmt.Sprint("n", i))
			if _, err := d.Pull(ctx, req); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(time.Since(began).Seconds()*1e6/float64(nNodes), fmt.Sprintf("µs/pull%d", round))
		b.ReportMetric(float64(cpu()-spent)/1e3/float64(nNodes), fmt.Sprintf("µsCPU/pull%d", round))
	}
	b.ReportMetric(float64(len(d.state.contenders)), "sets")
	b.ReportMetric(0, "ns/op")
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// liveClaims makes claims with two jobs each: the even ones bound, at nodes in turn.
func (f *fixture) liveClaims(nClaims, nNodes int) {
	ctx := context.Background()
	bound, pending := make([]int32, nNodes), int32(0)
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) (err error) {
		if err := AddPayload(ctx, tx, Payload{Task: 1, Command: []string{"x"}}); err != nil {
			return err
		}
		for i := range bound {
			need := job.Requirements{Cores: 1, Claims: &job.ClaimNeed{Queue: "q", Node: fmt.Sprint("n", i)}}
			if bound[i], err = Intern(ctx, tx, need); err != nil {
				return err
			}
		}
		pending, err = Intern(ctx, tx, job.Requirements{Cores: 1, Claims: &job.ClaimNeed{OnNode: true}})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.exec(`INSERT INTO resource_claims (task_id, key, template, linger_s, state, queue_id, node, share_id, idle_since)
		SELECT 1, i::text, '{"name": "t", "node": true}', 3600, CASE i % 2 WHEN 0 THEN 'bound' ELSE 'pending' END,
			CASE i % 2 WHEN 0 THEN 1 ELSE 0 END, CASE i % 2 WHEN 0 THEN 'n' || (i / 2 % $2) ELSE '' END, CASE i % 2 WHEN 0 THEN 1 ELSE 0 END,
			CASE i % 2 WHEN 0 THEN now() END
		FROM generate_series(0, $1::int - 1) AS i`, nClaims, nNodes)
	f.exec(`INSERT INTO jobs (task_id, share_id, shape_id, place, priority, max_attempts, idx, claims)
		SELECT 1, 1, CASE c.key::int % 2 WHEN 0 THEN ($1::int[])[1 + c.key::int / 2 % $3] ELSE $2 END, 0, 0, 3, 0, ARRAY[c.id]
		FROM resource_claims c, generate_series(1, 2)`, bound, pending, nNodes)
	f.exec(`INSERT INTO counters (share_id, shape_id, queue_id, ready, waiting, held, held_units)
		SELECT share_id, shape_id, 0, count(*), 0, 0, 0 FROM jobs GROUP BY 1, 2`)
	f.exec("ANALYZE resource_claims, jobs, shapes")
}
