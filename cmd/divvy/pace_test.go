package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Two workers whose batches take 10 ms, while so many jobs are granted: what their daemon makes in ten seconds.
func TestPaceOfGenerators(t *testing.T) {
	const batch, took, lasts = 5000, 10 * time.Millisecond, 10 * time.Second
	const unpaced = 2 * batch / 0.014 // with a rest of four tenths
	for _, c := range []struct {
		name          string
		granted       float64 // a second, by all
		daemons       int
		wantPerSecond float64
	}{
		{"nothing is granted", 0, 1, unpaced},
		{"few jobs are granted", 10, 1, paceFloor},
		{"nearly half of the floor is granted", 25_000, 1, paceFloor},
		{"more than half of the floor is granted", 50_000, 1, 100_000},
		{"few jobs, four daemons", 10, 4, paceFloor / 4},
		{"many jobs, four daemons", 100_000, 4, 50_000},
		{"more is granted than can be made", 1e6, 1, unpaced},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				daemons := func() int { return c.daemons }
				p := newPace(&ease{times: 0.4, most: took, mostAll: took, daemons: daemons},
					func() int64 { return int64(c.granted * time.Since(began).Seconds()) }, daemons)
				time.Sleep(2 * paceLook)
				p.rest(0, 0) // it has looked
				var made atomic.Int64
				var workers sync.WaitGroup
				start := time.Now()
				for range 2 {
					workers.Go(func() {
						for time.Since(start) < lasts {
							time.Sleep(took)
							made.Add(batch)
							time.Sleep(p.rest(batch, took))
						}
					})
				}
				workers.Wait()
				// What may be made at once, and the batch that each worker has begun, come on top.
				want, more := c.wantPerSecond*lasts.Seconds(), float64(paceAhead+2*batch)
				if got := float64(made.Load()); got < want*0.98 || got > want*1.02+more {
					t.Errorf("%.0f jobs, want %.0f and up to %.0f more", got, want, more)
				}
			})
		})
	}
}
