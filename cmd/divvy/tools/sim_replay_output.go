package tools

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares/replay"
)

func printReplay(c *cli.CLI, s replay.Score, other bool) error {
	return c.Print(s, func(w io.Writer) {
		writeReplayHead(w, s, other)
		if len(s.First) > 0 {
			fmt.Fprintln(w)
			writeDifferences(w, s)
		}
		if len(s.Shares) > 0 {
			fmt.Fprintln(w)
			writeDelivered(w, s, other)
		}
	})
}

func writeReplayHead(w io.Writer, s replay.Score, other bool) {
	g := show.NewFacts(w)
	if !s.From.IsZero() {
		g.Row("decided", s.From.UTC().Format(time.DateTime)+" to "+s.Until.UTC().Format(time.DateTime)+" UTC")
		g.Row("versions", strings.Trim(fmt.Sprint(s.Version), "[]"))
	}
	g.Row("decisions", s.Decisions)
	g.Row("compared", fmt.Sprintf("%d (%s %%)", s.Compared, decimals(100*s.Comparable(), 1)))
	for _, n := range s.NotComparable {
		g.Row("not comparable", fmt.Sprintf("%d, because %s", n.Decisions, n.Reason))
	}
	g.Row("differences", s.Differences)
	if !other {
		g.Row("other deficits", s.Drifts)
	}
	g.Flush()
}

func writeDifferences(w io.Writer, s replay.Score) {
	g := show.New(w, "at", ">job", "queue", "was given to", ">deficit", "would go to", ">deficit", ">held")
	for _, d := range s.First {
		g.Row(d.At.UTC().Format(time.DateTime), d.Job, d.Queue, d.Share, decimals(d.Deficit, 3), show.OrDash(d.ShareNow), decimals(d.DeficitNow, 3), show.Units(d.Held))
	}
	g.Flush()
	if n := s.Differences - int64(len(s.First)); n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
}

// writeDelivered is a line a share: what it held, in slot-hours, and how often it was given a slot.
func writeDelivered(w io.Writer, s replay.Score, other bool) {
	headers := []string{"pool", "share", ">slot-hours", ">starts"}
	if other {
		headers = append(headers, ">would be", ">starts", ">change")
	}
	digits := 1
	if !slices.ContainsFunc(s.Shares, func(d replay.Delivered) bool { return max(d.Recorded, d.Now) >= 100 }) {
		digits = 3 // minutes, or a few slots
	}
	g := show.New(w, headers...)
	for _, d := range s.Shares {
		cells := []any{d.Pool, d.Path, decimals(d.Recorded, digits), d.Started}
		if other {
			cells = append(cells, decimals(d.Now, digits), d.Starts, fmt.Sprintf("%+.*f", digits, d.Now-d.Recorded))
		}
		g.Row(cells...)
	}
	g.Flush()
}
