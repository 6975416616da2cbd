package main

import (
	"fmt"
	"io"
	"path"

	"github.com/divvyhq/divvy/dispatcher"
)

// writeStanding draws the share tree of each pool. wide adds tier, demand, jobs and ids; barWidth > 0 a bar of
// held against target.
func writeStanding(w io.Writer, s dispatcher.Standing, wide bool, barWidth int) {
	for i, p := range s.Pools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "version %d  pool %s  capacity %s  held %s  shared out %s\n",
			s.Version, p.Pool, capacity(p.Capacity), units(p.Held), units(p.Round))
		writePool(w, p, wide, barWidth)
	}
}

func writePool(w io.Writer, p dispatcher.PoolStanding, wide bool, barWidth int) {
	headers := []string{"share", ">weight", ">target", ">held", ">ready", ">deficit"}
	if wide {
		headers = append(headers, ">tier", ">slots", ">demand", ">jobs", ">id")
	}
	if barWidth > 0 {
		headers = append(headers, "held █ target ░")
	}
	g := newGrid(w, headers...)
	depths := make([]int, len(p.Shares))
	for i, s := range p.Shares {
		depths[i] = s.Depth
	}
	full := p.Round
	for i, prefix := range branches(depths) {
		s := p.Shares[i]
		cells := []any{prefix + shareName(s), units(s.Weight), units(s.Target), units(s.Held), s.Ready, units(s.Deficit)}
		if s.Depth == 0 {
			cells[1] = "-"
		}
		if wide {
			cells = append(cells, s.Tier, s.Slots, demand(s.Demand), s.HeldJobs, s.ID)
		}
		if barWidth > 0 {
			cells = append(cells, bar(s.Held, s.Target, full, barWidth))
		}
		g.row(cells...)
	}
	g.flush()
}

// shareName is the last part of the path; the root has none.
func shareName(s dispatcher.ShareStanding) string {
	if s.Path == "" {
		return "all"
	}
	return path.Base(s.Path)
}

// demand prints a demand; what is more than any site has is ∞.
func demand(f float64) string {
	if f >= 1e12 {
		return "∞"
	}
	return units(f)
}
