package serve

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Most of what a pull allocates is dead when it is answered: with little in use, Go's default would collect a hundred times a second. So
// garbage may be four times what is in use, as long as all stays within memoryBudget.
const (
	gcPercent    = 400
	memoryBudget = 320 << 20
)

// memoryLimit is GOMEMLIMIT for so many bytes in use: the budget, or somewhat more than what is in use. A collection takes no time in leases, of
// which a large site's memory is made, and a quarter of a second where ten thousand long polls wait.
func memoryLimit(used uint64) int64 { return int64(max(memoryBudget, used+max(56<<20, used/8))) }

// inUse is what the limit counts and no collection frees: what was live at the last one, stacks, and what the allocator has for itself.
func inUse() uint64 {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	used := of[0].Value.Uint64() + of[1].Value.Uint64()
	for _, not := range of[2:] {
		used -= not.Value.Uint64()
	}
	return used
}

// paceGC is the step that sets the garbage collector's pace by what is in use, from the start on: reading the state is when most is made. Whoever sets GOGC
// or GOMEMLIMIT decides instead.
func paceGC(life *lifetime) func(context.Context) error {
	return func(context.Context) error {
		if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
			keepPace(life)
		}
		return nil
	}
}

func keepPace(life *lifetime) {
	debug.SetGCPercent(gcPercent)
	var was int64
	pace := func() {
		if limit := memoryLimit(inUse()); limit != was {
			debug.SetMemoryLimit(limit)
			was = limit
		}
	}
	pace()
	tick, over := time.NewTicker(time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				pace()
			case <-over:
				return
			}
		}
	}()
	life.onStop("garbage collector's pace", time.Second, func(context.Context) error {
		tick.Stop()
		close(over)
		debug.SetMemoryLimit(math.MaxInt64) // the process may go on
		return nil
	})
}
