package dispatcher

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// memory is what Go has in use after a collection: heap and stacks.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// What a pull that waits costs in memory, without the connection that it came over (that is the benchmark of the same name
// in package api): go test ./dispatcher -run '^$' -bench WaitingPulls -benchtime 1x.
func BenchmarkWaitingPulls(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		f := newFixture(b, []shares.Spec{node("A", 1)}, slots("q", 10))
		d, stop := f.runDaemon()
		before := memory()
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				_, _ = d.Pull(ctx, PullRequest{Queue: "q", Pilot: fmt.Sprint("pilot-", i), Slot: Slot{Cores: 1}, WaitS: 300, RequestID: "1"})
			})
		}
		for in := 0; in < n; {
			d.mu.Lock()
			in = len(d.requests)
			d.mu.Unlock()
			runtime.Gosched()
		}
		b.ReportMetric(float64(memory()-before)/n, "B/pull")
		cancel()
		all.Wait()
		stop()
	}
}
