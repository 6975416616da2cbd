package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// BenchmarkGrants is what a grant costs where a sample of the decisions is recorded, and where all are: CPU of this
// process, and bytes that the records take. Run it with -benchtime 1x.
func BenchmarkGrants(b *testing.B) {
	for name, all := range map[string]bool{"sample": false, "all": true} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				benchGrants(b, all)
			}
		})
	}
}

func benchGrants(b *testing.B, all bool) {
	const grants, pilots = 60_000, 64
	var root []shares.Spec
	for i := range 10 {
		top := node(fmt.Sprintf("T%d", i), float64(1+i))
		for k := range 10 {
			top.Children = append(top.Children, node(fmt.Sprintf("L%d", k), float64(1+k)))
		}
		root = append(root, top)
	}
	f := newFixture(b, root, slots("q", 1_000_000))
	d, err := Open(context.Background(), Config{Pool: f.pool, Load: f.load, RecordAll: all})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	for i := range 10 {
		for k := range 10 {
			f.enqueue(batch{share: fmt.Sprintf("T%d/L%d", i, k), n: grants / 50})
		}
	}
	if _, err := d.Refresh(ctx); err != nil {
		b.Fatal(err)
	}
	running.Go(func() {
		for tick := time.Tick(time.Second); ctx.Err() == nil; {
			if _, err := d.Record(ctx); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
			select {
			case <-tick:
			case <-ctx.Done():
			}
		}
	})
	before := cpu()
	var pulling sync.WaitGroup
	for range pilots {
		pulling.Go(func() {
			for range grants / pilots {
				if _, err := d.Pull(ctx, PullRequest{Queue: "q", Pilot: "p", Max: 1, Slot: job.Slot{Cores: 1}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	pulling.Wait()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1000/grants, "cpu-µs/grant")
	cancel()
	running.Wait()
	if err := d.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	var kept, bytes int64
	f.scan(&kept, "SELECT coalesce(sum(cardinality(job_ids)), 0) FROM decisions")
	f.scan(&bytes, "SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint FROM pg_inherits WHERE inhparent IN ('decisions'::regclass, 'diaries'::regclass)")
	b.ReportMetric(float64(bytes)/grants, "record-B/grant")
	b.ReportMetric(float64(kept)/grants, "records/grant")
}
