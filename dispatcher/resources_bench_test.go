package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
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
		{name: "turns of 100 users", ids: 100, users: true},
		{name: "turns of 10000 users", ids: 10_000, users: true},
		{name: "none at 200 queues", queues: 200},
		{name: "one of each of 200 queues, 100 IDs", resources: 1, ids: 100, units: plenty, queues: 200},
		{name: "none at 1000 queues", queues: 1000},
		{name: "none at 1000 queues with max_io", queues: 1000, maxIO: plenty},
		{name: "10 intensities at 1000 queues", queues: 1000, intensities: 10},
		{name: "10 intensities at 1000 queues with max_io", queues: 1000, maxIO: plenty, intensities: 10},
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
	users          bool  // the IDs are users, to whom all shares give turns
	maxIO          int64 // of each queue
	intensities    int   // of which jobs have one
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
			if c.users {
				top.Children[k].Plan.Within = shares.FairUser
			}
		}
		root = append(root, top)
	}
	queues := []shares.Queue{slots("q0", 1_000_000)}
	for i := 1; i < c.queues; i++ {
		queues = append(queues, slots(fmt.Sprint("q", i), 1_000))
	}
	for i := range queues {
		queues[i].MaxIO = c.maxIO
	}
	f := newFixture(b, root, queues...)
	f.apply(func(v *shares.Version) {
		*v = v.WithIO()
		for i := range c.resources {
			r := units(fmt.Sprintf("r%d", i), c.units)
			r.Split.Weights, r.Split.Tree, r.PerQueue = c.split.Weights, c.split.Tree, c.queues > 0
			v.Resources = append(v.Resources, r)
		}
	})
	f.enqueueAsking(b, 2*grants, c)
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
				reply, err := d.Pull(ctx, PullRequest{Queue: queue, Pilot: fmt.Sprint("p", i), Max: 1, Slot: job.Slot{Cores: 1}, WaitS: 60})
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

// enqueueAsking makes ready jobs of all leaves in one transaction, of sharing IDs and resources in turn.
func (f *fixture) enqueueAsking(b *testing.B, n int, c benchSite) {
	b.Helper()
	ctx := context.Background()
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		kinds := max(1, c.ids, c.intensities)
		shapes, tasks := make([]int32, kinds), make([]int64, kinds)
		for i := range shapes {
			need := job.Requirements{Cores: 1}
			if c.resources > 0 {
				need.Resources, need.SharingID = map[string]int64{fmt.Sprintf("r%d", i%c.resources): 1}, fmt.Sprint("user", i)
			}
			if c.intensities > 0 {
				need.Resources = map[string]int64{shares.IO: int64(100 + i)}
			}
			var err error
			if tasks[i], err = f.addTask(ctx, tx, i == 0 || c.users, fmt.Sprint("user", i)); err != nil {
				return err
			}
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
				if c.ids > benchLeaves {
					leaf = leaves[who%benchLeaves] // a user's jobs are of one share
				}
				jobs = append(jobs, NewJob{Task: tasks[who], Share: f.version.Tree.Nodes[leaf].ID, Shape: shapes[who], MaxAttempts: 1, Index: int64(i)})
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

// addTask makes a new task of a user; without another it is the last one.
func (f *fixture) addTask(ctx context.Context, tx pgx.Tx, another bool, user string) (int64, error) {
	if !another {
		return f.tasks, nil
	}
	f.tasks++
	if _, err := tx.Exec(ctx, `INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE
		VALUES ($1, 't', $2, 'running', 1, '{}')`, f.tasks, user); err != nil {
		return 0, err
	}
	return f.tasks, AddPayload(ctx, tx, Payload{Task: f.tasks, Command: []string{"true"}})
}
