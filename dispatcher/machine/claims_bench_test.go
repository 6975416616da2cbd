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

// bound is a machine of many nodes with some bound claims each, of a GPU and five jobs: two run, three wait since the claim is full.
func bound(b *testing.B, nodes, perNode int) (*Machine, []entry.Granted) {
	m := New(Config{})
	v := siteOf(100, 20)
	apply := func(e entry.Entry) {
		if err := m.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	apply(entry.Tick{Now: start})
	apply(entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
	apply(entry.Adopted{Number: 1, Site: &v})
	leaves, id := v.Tree.Leaves(), int64(1)
	var grants []entry.Granted
	for n := range nodes * perNode {
		claim, task := int64(n+1), int64(n/10+1)
		apply(entry.Claimed{Claim: claim, Task: task, Key: fmt.Sprint("g/", n%10), Jobs: 5,
			Template: shares.ClaimTemplate{Name: "gpu", Devices: map[string]int{"gpu": 1}, MaxSharers: 2, Linger: time.Minute}})
		apply(entry.Joined{Task: task, Low: id, High: id + 4, Claims: []int64{claim}})
		apply(entry.Enqueued{Task: task, Share: v.Tree.Nodes[leaves[n/10%len(leaves)]].ID, Shape: 1, Low: id, High: id + 4, Attempt: 1, User: "ann"})
		id += 5
	}
	for n := range nodes {
		p := nodePull(n, 2*perNode)
		d := m.Decide(p)
		for _, e := range d.Entries {
			if g, ok := e.(entry.Granted); ok {
				grants = append(grants, g)
			}
		}
	}
	if len(grants) != 2*nodes*perNode {
		b.Fatalf("%d grants", len(grants))
	}
	return m, grants
}

func nodePull(n, most int) Pull {
	p := Pull{Queue: shares.QueueID(n%20 + 1), Slot: job.Slot{Cores: most}, Most: most, Pilot: fmt.Sprintf("pilot-%d", n), Node: fmt.Sprintf("node-%d", n), Nonce: int64(n)}
	for i := range 10 {
		p.Devices = append(p.Devices, fmt.Sprintf("gpu:%d", i))
	}
	return p
}

// A decision at a node, with the end of one of its leases, where all claims are bound and full.
func BenchmarkDecideBound(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("%d claims", nodes*10), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			m, grants := bound(b, nodes, 10)
			b.Logf("made in %s", time.Since(began))
			runtime.GC()
			runtime.ReadMemStats(&after)
			pulls := make([]Pull, nodes)
			for n := range pulls {
				pulls[n] = nodePull(n, 1)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var none, given time.Duration
			n := 0
			for b.Loop() {
				i := r.IntN(len(grants))
				g := grants[i]
				p := pulls[i/20]
				t0 := time.Now()
				if d := m.Decide(p); d.Verdict != None {
					b.Fatalf("%+v", d)
				}
				none += time.Since(t0)
				if err := m.Apply(entry.Ended{Job: g.Job, Attempt: g.Attempt, Outcome: entry.Failed, Next: entry.Again}); err != nil {
					b.Fatal(err)
				}
				t0 = time.Now()
				d := m.Decide(p)
				given += time.Since(t0)
				if d.Verdict != Given {
					b.Fatalf("%+v", d)
				}
				grants[i] = d.Entries[len(d.Entries)-1].(entry.Granted)
				n++
			}
			b.ReportMetric(float64(none.Nanoseconds())/float64(n), "ns/none")
			b.ReportMetric(float64(given.Nanoseconds())/float64(n), "ns/given")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
			runtime.KeepAlive(m)
		})
	}
}

// A decision, and an end, at the node of one claim for which 1,000 jobs wait: two may hold it.
func BenchmarkDecideFull(b *testing.B) {
	m, _ := bound(b, 10, 10)
	const claim = 1_000_000
	v := m.Site()
	for _, e := range []entry.Entry{
		entry.Claimed{Claim: claim, Task: claim, Key: "full", Jobs: 1000, Template: shares.ClaimTemplate{Name: "node", Node: true, MaxSharers: 2, Linger: time.Minute}},
		entry.Joined{Task: claim, Low: claim, High: claim + 999, Claims: []int64{claim}},
		entry.Enqueued{Task: claim, Share: v.Tree.Nodes[v.Tree.Leaves()[0]].ID, Shape: 1, Low: claim, High: claim + 999, Attempt: 1, User: "ann"}} {
		if err := m.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	p := nodePull(0, 2)
	d := m.Decide(p)
	p.Most = 1
	for b.Loop() {
		if d.Verdict != Given {
			b.Fatalf("%+v", d)
		}
		g := d.Entries[len(d.Entries)-1].(entry.Granted)
		if err := m.Apply(entry.Ended{Job: g.Job, Attempt: g.Attempt, Outcome: entry.Failed, Next: entry.Again}); err != nil {
			b.Fatal(err)
		}
		d = m.Decide(p)
	}
}
