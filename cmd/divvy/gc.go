package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbageBudget is about how many bytes of garbage the daemon lets lie before it collects. Most of what a pull
// allocates is dead when it is answered: with little in use, Go's default would collect a hundred times a second.
const garbageBudget = 192 << 20

// gcPercent is GOGC for so many bytes in use, stacks among them, as the collector counts: the budget, and less than that
// where more than as much is in use, as with ten thousand long polls. A collection takes time in what it scans, which leases are not:
// a quarter of that may lie.
func gcPercent(used, scanned uint64) int {
	part := float64(garbageBudget) / float64(max(used, 1))
	if part < 1 {
		part *= part * part
	}
	return int(min(max(100*part, 25*float64(scanned)/float64(max(used, 1)), 5), 400))
}

// paceGC sets the garbage collector's pace by what is in use. Whoever sets GOGC or GOMEMLIMIT decides instead.
func (d *daemon) paceGC(context.Context) (int, error) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return 0, nil
	}
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, // ten thousand long polls have more of the second
		{Name: "/gc/scan/total:bytes"}}
	metrics.Read(of)
	if percent := gcPercent(of[0].Value.Uint64()+of[1].Value.Uint64(), of[2].Value.Uint64()); percent != d.gcPercent { // setting it stops the world
		debug.SetGCPercent(percent)
		d.gcPercent = percent
	}
	return 0, nil
}
