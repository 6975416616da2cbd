package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// BenchmarkPullsWithResources is what a grant costs, in time and CPU of this process and of the database, where jobs ask for
// nothing, where each asks for a unit of one of a few resources, and where there are a thousand resources and ten thousand
// sharing IDs. Run it with -benchtime 1x: all see the same machine in one run.
func BenchmarkPullsWithResources(b *testing.B) {
	weights := shares.Split{Weights: map[string]float64{"user1": 3}}
	tree := shares.Split{Tree: []shares.SplitNode{
		{Name: "g", Weight: 2, Children: []shares.SplitNode{{Name: "user1", Weight: 1}, {Name: "user2", Weight: 1}}},
		{Name: "h", Weight: 5, Children: []shares.SplitNode{{Name: shares.Others, Weight: 1}}}}}
	const plenty = 1 << 20
	for _, c := range []benchSite{
		{name: "none"},
		{name: "one of 10, 100 IDs", resources: 10, ids: 100, units: plenty},
		{name: "one of 1000, 10000 IDs", resources: 1000, ids: 10_000, units: plenty},
		{name: "one of 10, 100 IDs, scarce", resources: 10, ids: 100, units: 20},
		{name: "one resource, 10000 IDs, scarce", resources: 1, ids: 10_000, units: 200},
		{name: "one resource, 10000 IDs, scarce, by weights", resources: 1, ids: 10_000, units: 200, split: weights},
		{name: "one resource, 10000 IDs, scarce, by a tree", resources: 1, ids: 10_000, units: 200, split: tree},
		{name: "none at 200 queues", queues: 200},
		{name: "one of each of 200 queues, 100 IDs", resources: 1, ids: 100, units: plenty, queues: 200},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				c.run(b)
			}
		})
	}
}

// benchSite is resources of so many units each, which so many IDs ask for. With queues each of them has its own.
type benchSite struct {
	name           string
	resources, ids int
	units          int64
	split          shares.Split
	queues         int
}

const benchLeaves = 100

func (c benchSite) run(b *testing.B) {
	const pilots = 64
	grants := 30_000
	if c.queues > 0 {
		grants = 6_000
	}
	var root []shares.Spec
	for i := range 10 {
		top := node(fmt.Sprintf("T%d", i), float64(1+i))
		for k := range 10 {
			top.Children = append(top.Children, node(fmt.Sprintf("L%d", k), float64(1+k)))
		}
		root = append(root, top)
	}
	queues := []shares.Queue{slots("q0", 1_000_000)}
	for i := 1; i < c.queues; i++ {
		queues = append(queues, slots(fmt.Sprint("q", i), 1_000))
	}
	f := newFixture(b, root, queues...)
	f.apply(func(v *shares.Version) {
		for i := range c.resources {
			r := units(fmt.Sprintf("r%d", i), c.units)
			r.Split.Weights, r.Split.Tree, r.PerQueue = c.split.Weights, c.split.Tree, c.queues > 0
			v.Resources = append(v.Resources, r)
		}
	})
	f.enqueueAsking(b, 2*grants, c.resources, c.ids)
	d, err := Open(context.Background(), Config{Pool: f.pool, Load: f.load})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	running.Go(func() {
		for tick := time.Tick(100 * time.Millisecond); ctx.Err() == nil; {
			_, _ = d.Refresh(ctx)
			select {
			case <-tick:
			case <-ctx.Done():
			}
		}
	})
	b.ResetTimer()
	before, server, start := cpu(), f.serverCPU(b), time.Now()
	var pulling sync.WaitGroup
	for i := range pilots {
		pulling.Go(func() {
			for n := range grants / pilots {
				queue := fmt.Sprint("q", (n*pilots+i)*7%len(queues))
				reply, err := d.Pull(ctx, PullRequest{Queue: queue, Pilot: fmt.Sprint("p", i), Max: 1, Slot: Slot{Cores: 1}, WaitS: 60})
				if err != nil {
					b.Error(err)
					return
				}
				finish(b, d, Finished, reply.Leases...)
			}
		})
	}
	pulling.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1000/float64(grants), "cpu-µs/life")
	b.ReportMetric(float64((f.serverCPU(b)-server).Nanoseconds())/1000/float64(grants), "server-cpu-µs/life")
	b.ReportMetric(float64(grants)/time.Since(start).Seconds(), "lives/s")
	cancel()
	running.Wait()
	_ = d.Close(context.Background())
}

// enqueueAsking makes ready jobs of all leaves in one transaction, of so many sharing IDs and resources in turn.
func (f *fixture) enqueueAsking(b *testing.B, n, nResources, nIDs int) {
	b.Helper()
	ctx := context.Background()
	f.tasks++
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		if err := AddPayload(ctx, tx, Payload{Task: f.tasks, Command: []string{"true"}}); err != nil {
			return err
		}
		shapes := make([]int32, max(1, nIDs))
		for i := range shapes {
			need := Requirements{Cores: 1}
			if nResources > 0 {
				need.Resources, need.SharingID = map[string]int64{fmt.Sprintf("r%d", i%nResources): 1}, fmt.Sprint("user", i)
			}
			var err error
			if shapes[i], err = Intern(ctx, tx, need); err != nil {
				return err
			}
		}
		leaves := f.version.Tree.Leaves()
		for at := 0; at < n; at += 10_000 {
			jobs := make([]NewJob, 0, 10_000)
			for i := at; i < min(n, at+10_000); i++ {
				who := i % len(shapes)
				leaf := leaves[i%benchLeaves]
				if nIDs > benchLeaves {
					leaf = leaves[who%benchLeaves] // a user's jobs are of one share
				}
				jobs = append(jobs, NewJob{Task: f.tasks, Share: f.version.Tree.Nodes[leaf].ID, Shape: shapes[who], MaxAttempts: 1, Index: int64(i)})
			}
			if _, err := Enqueue(ctx, tx, jobs); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
