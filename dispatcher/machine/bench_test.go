package machine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
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

// stocked is a machine with jobs of 4 shapes ready in every leaf, and some held.
func stocked(b testing.TB, v shares.Version, ready, held int) (*Machine, []entry.Granted) {
	m := New(Config{})
	apply := func(e entry.Entry) {
		if err := m.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	apply(entry.Tick{Now: start})
	for i, cores := range []int{1, 1, 4, 8} {
		apply(entry.Shaped{Shape: int32(i + 1), Need: job.Requirements{Cores: cores, MemoryMB: int64(i) * 100}})
	}
	apply(entry.Adopted{Number: 1, Site: &v})
	leaves, id, batch := v.Tree.Leaves(), int64(1), int64(1000)
	for n := 0; n < ready+held; n += int(batch) {
		k := n / int(batch)
		apply(entry.Enqueued{Task: int64(k % 5000), Share: v.Tree.Nodes[leaves[k%len(leaves)]].ID, Shape: int32(k/len(leaves)%4 + 1), Place: int64(-(k % 3)),
			Low: id, High: id + batch - 1, Attempt: 1, User: fmt.Sprint("user", k%100)})
		id += batch
	}
	var grants []entry.Granted
	for n := range held {
		d := m.Decide(pullOf(n, len(v.Queues)))
		if d.Verdict != Given {
			b.Fatalf("grant %d: %+v", n, d)
		}
		grants = append(grants, d.Entries[0].(entry.Granted))
	}
	return m, grants
}

func pullOf(n, queues int) Pull {
	return Pull{Queue: shares.QueueID(n%queues + 1), Slot: job.Slot{Cores: 8}, Most: 1, Pilot: fmt.Sprintf("pilot-%d", n%20000), Node: fmt.Sprintf("node-%d", n%2500), Nonce: int64(n)}
}

// A decision, and the end of the lease that has been held longest, by how much there is of everything.
func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct{ leaves, queues, ready, held int }{{100, 20, 1_000_000, 100_000}, {100, 20, 10_000_000, 1_000_000}, {1000, 1000, 1_000_000, 100_000}} {
		b.Run(fmt.Sprintf("%d leaves %d queues %d ready %d held", c.leaves, c.queues, c.ready, c.held), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			m, grants := stocked(b, siteOf(c.leaves, c.queues), c.ready, c.held)
			b.Logf("made in %s", time.Since(began))
			runtime.GC()
			runtime.ReadMemStats(&after)
			r := rand.New(rand.NewPCG(1, 2))
			n := 0
			for b.Loop() {
				d := m.Decide(pullOf(r.IntN(1<<30), c.queues))
				if d.Verdict != Given {
					b.Fatalf("%+v", d)
				}
				g := grants[n%c.held]
				if err := m.Apply(entry.Ended{Job: g.Job, Attempt: g.Attempt, Outcome: entry.Failed, Next: entry.Again}); err != nil {
					b.Fatal(err)
				}
				grants[n%c.held] = d.Entries[0].(entry.Granted)
				n++
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
			runtime.KeepAlive(m)
		})
	}
}
