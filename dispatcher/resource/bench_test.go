package resource

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// busy is a pool in which all of n IDs want more than there is, and all units are held.
func busy(n int, capacity int64, weights map[string]float64) (*Pool, []string) {
	s := spec(capacity)
	s.Split.Weights = weights
	p := NewPool(s)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("user%05d", i*7919%n)
		p.Want(ids[i], int64(1+i%50)*3)
	}
	now := time.Unix(1_800_000_000, 0)
	for k := 0; p.Held() < capacity; k++ {
		give(p, ids[k%n], now)
	}
	return p, ids
}

// give asks for a unit and takes it.
func give(p *Pool, id string, now time.Time) bool {
	ok, _ := p.Admits(id, 1, now)
	if ok {
		p.Hold(id, 1)
		p.Want(id, p.WantedBy(id)-1)
		p.Granted(id)
	}
	return ok
}

// cpu is the CPU time of this process: what a benchmark takes on a machine that has other work.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkGrant is an end and a grant in a full pool: Hold for both, Want, Granted, and Admits for all that are asked until
// one is let pass. What was done comes back as wanted, so that demands stay.
func BenchmarkGrant(b *testing.B) {
	for _, c := range []struct {
		ids      int
		capacity int64
		weights  map[string]float64
	}{{10, 40, nil}, {10_000, 4000, nil}, {10_000, 40_000, nil}, {10_000, 300_000, nil}, {1000, 4000, map[string]float64{"user00001": 2}}, {10_000, 4000, map[string]float64{"user00001": 2}},
		{10_000, 40, map[string]float64{"user00001": 2}}, {10_000, 300_000, map[string]float64{"user00001": 2}}} {
		b.Run(fmt.Sprintf("%d IDs %d units weights %d", c.ids, c.capacity, len(c.weights)), func(b *testing.B) {
			p, ids := busy(c.ids, c.capacity, c.weights)
			now := time.Unix(1_800_000_000, 0)
			k, nAsked, nGranted := 0, 0, 0
			b.ReportAllocs()
			began := cpu()
			for b.Loop() {
				id := ids[k%len(ids)]
				k += 7
				if p.HeldBy(id) > 0 {
					p.Hold(id, -1)
					p.Want(id, p.WantedBy(id)+1)
				}
				for n := range 20 {
					nAsked++
					if give(p, ids[(k+n*3)%len(ids)], now) {
						nGranted++
						break
					}
				}
			}
			b.ReportMetric(float64(cpu()-began)/float64(max(1, nGranted)), "cpu-ns/grant")
			b.ReportMetric(float64(nAsked)/float64(max(1, nGranted)), "asked/grant")
		})
	}
}

// BenchmarkChanging has IDs that come and go, so that the even level goes up and down by more than one unit.
func BenchmarkChanging(b *testing.B) {
	p, ids := busy(10_000, 40_000, nil)
	now := time.Unix(1_800_000_000, 0)
	k := 0
	began := cpu()
	defer func() { b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op") }()
	for b.Loop() {
		k += 7
		id := ids[k%len(ids)]
		if p.HeldBy(id) > 0 {
			p.Hold(id, -1)
		}
		if p.WantedBy(id) > 0 {
			p.Want(id, 0)
		} else {
			p.Want(id, 20)
		}
		give(p, ids[(k+3)%len(ids)], now)
	}
}

// BenchmarkAllowances is what `divvy resource show` asks for.
func BenchmarkAllowances(b *testing.B) {
	p, _ := busy(10_000, 40_000, nil)
	for b.Loop() {
		p.Allowances()
	}
}
