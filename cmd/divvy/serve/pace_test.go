package serve

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divvyhq/divvy/internal/loops"
)

// Daemons with two workers whose batches take 10 ms, while so many jobs are granted: what they make together in ten seconds.
func TestPaceOfGenerators(t *testing.T) {
	const batch, took, lasts = 5000, 10 * time.Millisecond, 10 * time.Second
	const unpaced = 2 * batch / 0.014 // of a daemon, with a rest of four tenths
	for _, c := range []struct {
		name              string
		granted           float64 // a second
		daemons, generate int     // of them
		wantPerSecond     float64
	}{
		{"nothing is granted", 0, 1, 1, unpaced},
		{"few jobs are granted", 10, 1, 1, paceFloor},
		{"nearly half of the floor is granted", 25_000, 1, 1, paceFloor},
		{"more than half of the floor is granted", 50_000, 1, 1, 100_000},
		{"more is granted than can be made", 1e6, 1, 1, unpaced},
		{"few jobs, one of ten daemons generates", 10, 10, 1, paceFloor},
		{"many jobs, one of ten daemons generates", 50_000, 10, 1, 100_000},
		{"few jobs, four daemons", 10, 4, 4, paceFloor},
		{"many jobs, two of four daemons generate", 100_000, 4, 2, 200_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var made, known atomic.Int64 // known a moment later
				daemons := func() int { return c.daemons }
				totals := func() (int64, int64) { return known.Load(), int64(c.granted * time.Since(began).Seconds()) }
				var workers sync.WaitGroup
				workers.Go(func() {
					for time.Since(began) < 3*paceLook+lasts {
						known.Store(made.Load())
						time.Sleep(time.Second)
					}
				})
				for range c.generate {
					p := newPace(&loops.Ease{Times: 0.4, Most: took, MostAll: 4 * time.Millisecond, Daemons: daemons}, totals, daemons)
					for range 2 {
						workers.Go(func() {
							time.Sleep(2 * paceLook)
							for time.Since(began) < 3*paceLook+lasts {
								time.Sleep(took)
								made.Add(batch)
								time.Sleep(p.rest(batch, took))
							}
						})
					}
				}
				time.Sleep(3 * paceLook) // they have looked
				before := made.Load()
				workers.Wait()
				// What may be made at once, and the batch that each worker has begun, come on top.
				want, more := c.wantPerSecond*lasts.Seconds(), float64(c.generate*(paceAhead+2*batch))
				if got := float64(made.Load() - before); got < want*0.98 || got > want*1.02+more {
					t.Errorf("%.0f jobs, want %.0f and up to %.0f more", got, want, more)
				}
			})
		})
	}
}
