package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbageBudget is about how many bytes of garbage the daemon lets lie before it collects. Most of what a pull
// allocates is dead when it is answered: with little in use, Go's default would collect a hundred times a second.
const garbageBudget = 128 << 20

// gcPercent is GOGC for so many bytes in use: the budget, within what wastes neither time nor memory.
func gcPercent(live uint64) int {
	return int(min(max(100*garbageBudget/max(live, 1), 50), 400))
}

// paceGC sets the garbage collector's pace by what is in use. Whoever sets GOGC or GOMEMLIMIT decides instead.
func (d *daemon) paceGC(context.Context) (int, error) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return 0, nil
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := gcPercent(live[0].Value.Uint64()); percent != d.gcPercent { // setting it stops the world
		debug.SetGCPercent(percent)
		d.gcPercent = percent
	}
	return 0, nil
}
