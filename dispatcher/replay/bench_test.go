package replay

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// processor is the processor time of this process so far: others share the machine.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // its only error is a bad address
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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

// running is a site at work: so many leases are held, and a million jobs are ready in ranges of a hundred.
func running(leaves, queues, held int) (h *history, leases []entry.Granted) {
	h = newHistory(machine.Config{})
	v := siteOf(leaves, queues)
	h.apply(entry.Tick{Now: h.now})
	for i, cores := range []int{1, 1, 4, 8} {
		h.apply(entry.Shaped{Shape: int32(i + 1), Need: job.Requirements{Cores: cores, MemoryMB: int64(i) * 100, WalltimeS: int64(i) * 3600}})
	}
	h.apply(entry.Adopted{Number: 1, Site: &v})
	all, id := v.Tree.Leaves(), int64(1)
	for n := range (1_000_000 + held) / 100 {
		h.apply(entry.Enqueued{Task: int64(n % 5000), Share: v.Tree.Nodes[all[n%len(all)]].ID, Shape: int32(n/len(all)%4 + 1), Place: int64(-(n % 3)),
			Low: id, High: id + 99, Attempt: 1, User: fmt.Sprint("user", n%5000%100)})
		id += 101
	}
	for n := range held {
		leases = append(leases, h.grant(n, queues))
		if n%85 == 84 {
			h.seal()
		}
	}
	h.seal()
	return h, leases
}

func (h *history) grant(n, queues int) entry.Granted {
	d := h.pull(machine.Pull{Queue: shares.QueueID(n%queues + 1), Slot: job.Slot{Cores: 8, WalltimeS: int64(n%2)*7200 + 7200}, Most: 1, Pilot: fmt.Sprintf("pilot-%d", n%20000),
		Node: fmt.Sprintf("node-%d", n%2500)})
	return d.Entries[0].(entry.Granted)
}

// An hour and less of a busy log, made again: by the site that was in force, with who came second, and by another one. A decision has an end with
// it, a batch 85.
func BenchmarkReplay(b *testing.B) {
	const queues, batches = 20, 600
	for _, leaves := range []int{100, 1000} {
		h, leases := running(leaves, queues, 20_000)
		p := Take(h.leader, h.now)
		from, began := p.Machine.Seq, h.now
		for n := range batches * 85 {
			at := n % len(leases)
			h.apply(entry.Ended{Job: leases[at].Job, Attempt: leases[at].Attempt, Outcome: entry.Failed, Next: entry.Again})
			if leases[at] = h.grant(n, queues); n%85 == 84 {
				h.now = h.now.Add(time.Second)
				h.apply(entry.Tick{Now: h.now})
				h.seal()
			}
		}
		all, err := h.log.Read(b.Context(), from, batches+10)
		if err != nil {
			b.Fatal(err)
		}
		other := siteOf(leaves, queues)
		for i := range other.Tree.Nodes {
			other.Tree.Nodes[i].Plan.Weight += float64(i % 3)
		}
		play := func(b *testing.B, site *shares.Version, contests bool) {
			decisions, spent := 0, time.Duration(0)
			for b.Loop() {
				m, err := p.Restore(machine.Config{}, h.sites[1])
				if err != nil {
					b.Fatal(err)
				}
				rival, _ := p.Restore(machine.Config{}, h.sites[1])
				c := &Compare{Since: began, Until: h.now}
				if err := c.Begin(m, rival, site); err != nil {
					b.Fatal(err)
				}
				start := processor()
				for _, batch := range all {
					if contests {
						err = c.player.Play(batch, func(t *Turn) {
							if _, _, ok := t.Decided(); !ok {
								b.Error("it cannot be made again")
							}
						})
					} else {
						err = c.Play(batch)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				spent += processor() - start
				decisions += batches * 85
				if s := c.Score(); site == nil && s.Differences > 0 {
					b.Fatalf("%d differences", s.Differences)
				}
			}
			b.ReportMetric(float64(decisions)/spent.Seconds(), "decisions/cpu-s")
		}
		b.Run(fmt.Sprintf("%d leaves/as it was", leaves), func(b *testing.B) { play(b, nil, false) })
		b.Run(fmt.Sprintf("%d leaves/who came second", leaves), func(b *testing.B) { play(b, nil, true) })
		b.Run(fmt.Sprintf("%d leaves/by another site", leaves), func(b *testing.B) { play(b, &other, false) })
	}
}

// What a checkpoint costs: to take it while the machine stands still, to pack it, on disk, and to begin with it.
func BenchmarkCheckpoint(b *testing.B) {
	for _, held := range []int{20_000, 1_000_000} {
		h, _ := running(100, 20, held)
		b.Run(fmt.Sprintf("%d held", held), func(b *testing.B) {
			var take, pack, restore time.Duration
			var bytes int
			var grown uint64
			for b.Loop() {
				began := processor()
				c := Take(h.leader, h.now)
				take += processor() - began
				began = processor()
				packed, err := c.Pack()
				if err != nil {
					b.Fatal(err)
				}
				pack += processor() - began
				bytes = len(packed)
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				began = processor()
				if c, err = Unpack(packed); err != nil {
					b.Fatal(err)
				}
				m, err := c.Restore(machine.Config{}, h.sites[1])
				if err != nil {
					b.Fatal(err)
				}
				restore += processor() - began
				runtime.GC()
				runtime.ReadMemStats(&after)
				grown = after.HeapAlloc - before.HeapAlloc
				runtime.KeepAlive(m)
			}
			n := float64(b.N)
			b.ReportMetric(take.Seconds()*1e3/n, "ms-take")
			b.ReportMetric(pack.Seconds()*1e3/n, "ms-pack")
			b.ReportMetric(restore.Seconds()*1e3/n, "ms-begin")
			b.ReportMetric(float64(bytes)/1e6, "MB-disk")
			b.ReportMetric(float64(grown)/1e6, "MB-machine")
		})
	}
}
