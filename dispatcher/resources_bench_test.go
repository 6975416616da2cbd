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

// BenchmarkPullsWithResources is what a grant costs, in time and CPU of this process and of
// the database, where jobs ask for nothing, where each
// asks for a unit of one of a few resources, and where there are a thousand resources and ten thousand sharing IDs. Run it
// with -benchtime 1x: all see the same machine in one run.
func BenchmarkPullsWithResources(b *testing.B) {
	for _, c := range []struct {
		name           string
		resources, ids int
		units          int64
		split          shares.Split
	}{
		{"none", 0, 0, 0, shares.Split{}},
		{"one of 10, 100 IDs", 10, 100, 1 << 20, shares.Split{}},
		{"one of 1000, 10000 IDs", 1000, 10_000, 1 << 20, shares.Split{}},
		{"one of 10, 100 IDs, scarce", 10, 100, 20, shares.Split{}},
		{"one resource, 10000 IDs, scarce", 1, 10_000, 200, shares.Split{}},
		{"one resource, 10000 IDs, scarce, by weights", 1, 10_000, 200, shares.Split{Weights: map[string]float64{"user1": 3}}},
		{"one resource, 10000 IDs, scarce, by a tree", 1, 10_000, 200, shares.Split{Tree: []shares.SplitNode{
			{Name: "g", Weight: 2, Children: []shares.SplitNode{{Name: "user1", Weight: 1}, {Name: "user2", Weight: 1}}},
			{Name: "h", Weight: 5, Children: []shares.SplitNode{{Name: shares.Others, Weight: 1}}}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				benchResources(b, c.resources, c.ids, c.units, c.split)
			}
		})
	}
}

const benchLeaves = 100

func benchResources(b *testing.B, nResources, nIDs int, capacity int64, split shares.Split) {
	const grants, pilots = 30_000, 64
	var root []shares.Spec
	for i := range 10 {
		top := node(fmt.Sprintf("T%d", i), float64(1+i))
		for k := range 10 {
			top.Children = append(top.Children, node(fmt.Sprintf("L%d", k), float64(1+k)))
		}
		root = append(root, top)
	}
	f := newFixture(b, root, slots("q", 1_000_000))
	f.apply(func(v *shares.Version) {
		for i := range nResources {
			r := units(fmt.Sprintf("r%d", i), capacity)
			r.Split.Weights, r.Split.Tree = split.Weights, split.Tree
			v.Resources = append(v.Resources, r)
		}
	})
	f.enqueueAsking(b, 2*grants, nResources, nIDs)
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
			for range grants / pilots {
				reply, err := d.Pull(ctx, PullRequest{Queue: "q", Pilot: fmt.Sprint("p", i), Max: 1, Slot: Slot{Cores: 1}, WaitS: 60})
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
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1000/grants, "cpu-µs/life")
	b.ReportMetric(float64((f.serverCPU(b)-server).Nanoseconds())/1000/grants, "server-cpu-µs/life")
	b.ReportMetric(grants/time.Since(start).Seconds(), "lives/s")
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
