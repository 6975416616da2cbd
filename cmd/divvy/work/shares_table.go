package work

import (
	"fmt"
	"io"
	"math"
	"path"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// WriteStanding draws the share tree of each pool. wide adds what the plans make of it (deserved, own, lent, borrowed),
// lag, rank, tier, demand, jobs and ids; barWidth > 0 a bar of held against target.
func WriteStanding(w io.Writer, s wire.Standing, wide bool, barWidth int) {
	for i, p := range s.Pools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "version %d  pool %s  capacity %s  held %s  shared out %s",
			s.Version, p.Pool, show.Capacity(p.Capacity), show.Units(p.Held), show.Units(p.Round))
		if s.NextChange != nil {
			fmt.Fprintf(w, "  other plans from %s", s.NextChange.UTC().Format("2006-01-02 15:04 MST"))
		}
		fmt.Fprintln(w)
		writePool(w, p, wide, barWidth)
	}
}

func writePool(w io.Writer, p wire.PoolStanding, wide bool, barWidth int) {
	headers := []string{"share", ">weight", ">target", ">held", ">ready", ">deficit", ">eta"}
	if wide {
		headers = append(headers, ">deserved", ">own", ">lent", ">borrowed", ">lag", ">rank", ">tier", ">slots", ">demand", ">jobs", ">id")
	}
	if barWidth > 0 {
		headers = append(headers, "held █ target ░")
	}
	g := show.New(w, headers...)
	depths := make([]int, len(p.Shares))
	for i, s := range p.Shares {
		depths[i] = s.Depth
	}
	full := p.Round
	for i, prefix := range show.Branches(depths) {
		s := p.Shares[i]
		cells := []any{prefix + shareName(s), show.Units(s.Weight), show.Units(s.Target), show.Units(s.Held), s.Ready, show.Units(s.Deficit), untilTarget(s)}
		if s.Depth == 0 {
			cells[1] = "-"
		}
		if wide {
			cells = append(cells, demand(s.Deserved), show.Units(s.Own), show.Units(s.Lent), show.Units(s.Borrowed), lag(s.Lag), s.Rank, s.Tier, s.Slots, demand(s.Demand), s.HeldJobs, s.ID)
		}
		if barWidth > 0 {
			cells = append(cells, show.Bar(s.Held, s.Target, full, barWidth))
		}
		g.Row(cells...)
	}
	g.Flush()
}

// untilTarget is how long a share that is short waits for its target if nothing is reclaimed.
func untilTarget(s wire.ShareStanding) string {
	switch {
	case s.Deficit < 0.001:
		return "-"
	case s.AtTarget == nil:
		return "unknown"
	}
	return time.Duration(math.Ceil(*s.AtTarget) * float64(time.Second)).String()
}

// shareName is the last part of the path; the root has none.
func shareName(s wire.ShareStanding) string {
	if s.Path == "" {
		return "all"
	}
	return path.Base(s.Path)
}

// lag prints units times seconds: what a share has missed, in the largest unit of time that leaves a figure of some size.
func lag(unitSeconds float64) string {
	for _, in := range []struct {
		seconds float64
		name    string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if math.Abs(unitSeconds) >= 10*in.seconds {
			return fmt.Sprintf("%.0f %s", unitSeconds/in.seconds, in.name)
		}
	}
	return fmt.Sprintf("%.0f s", math.Round(unitSeconds)+0) // + 0: not -0
}

// demand prints a demand; what is more than any site has is ∞.
func demand(f float64) string {
	if f >= 1e12 {
		return "∞"
	}
	return show.Units(f)
}
