package tools

import (
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares/sim"
)

func printSim(c *cli.CLI, r SimReport, format string) error {
	switch format {
	case "csv":
		return writeSimCSV(c.Out, r)
	case "plot":
		width, _ := show.Terminal(c.Out)
		return writeSimPlot(c.Out, r, max(width, 80))
	case "svg":
		return writeSimSVG(c.Out, r)
	case "json":
		return cli.WriteJSON(c.Out, r)
	case "yaml":
		return cli.WriteYAML(c.Out, r)
	}
	writeSimHead(c.Out, r)
	writeSimShares(c.Out, r)
	fmt.Fprintln(c.Out)
	writeSimFairness(c.Out, r)
	return nil
}

func writeSimHead(w io.Writer, r SimReport) {
	first := r.Runs[0]
	fmt.Fprintf(w, "%s: %s%s; %s slots\n", r.Trace, show.Plural(int64(r.Jobs), "job"), leftOut(r.LeftOut), show.Units(first.Slots))
	if n := first.Shares[0].Never; n > 0 {
		fmt.Fprintf(w, "%s never ran: wider than the site or than a max\n", show.Plural(int64(n), "job"))
	}
	for _, run := range r.Runs {
		if n := run.Shares[0].Stuck; n > 0 {
			fmt.Fprintf(w, "%s: limits of lending and borrowing kept %s back to the end\n", run.Rule, show.Plural(int64(n), "job"))
		}
	}
	fmt.Fprintln(w)
}

// writeSimShares is a line a share, or one for each rule. Delivered, target, short and over are slot-hours.
func writeSimShares(w io.Writer, r SimReport) {
	g := show.New(w, "share", ">weight", ">jobs", "rule", ">delivered", ">target", ">short", ">over", ">wait p50", ">p90", ">p99", ">max", ">starved")
	depths := make([]int, len(r.Runs[0].Shares))
	for i, s := range r.Runs[0].Shares {
		depths[i] = s.Depth
	}
	for i, prefix := range show.Branches(depths) {
		for k, run := range r.Runs {
			s := run.Shares[i]
			name, weight, jobs := prefix+simName(s), show.Pick(i == 0, "-", show.Units(s.Weight)), strconv.Itoa(s.Started)
			if k > 0 {
				name, weight, jobs = "", "", ""
			}
			g.Row(name, weight, jobs, run.Rule, show.Units(s.Delivered), show.Units(s.Target), show.Units(s.Short), show.Units(s.Over),
				lasting(s.Wait.P50), lasting(s.Wait.P90), lasting(s.Wait.P99), lasting(s.Wait.Max), show.Pick(s.Leaf, lasting(s.StarvedS), "-"))
		}
	}
	g.Flush()
}

// simName is the last part of a share's path; the root has none.
func simName(s sim.Share) string {
	if s.Path == "" {
		return "all"
	}
	return path.Base(s.Path)
}

// writeSimFairness is the figures of the whole tree, a column a rule.
func writeSimFairness(w io.Writer, r SimReport) {
	headers := []string{"fairness"}
	for _, run := range r.Runs {
		headers = append(headers, ">"+run.Rule)
	}
	g := show.New(w, headers...)
	row := func(what string, figure func(sim.Result) string) {
		cells := []any{what}
		for _, run := range r.Runs {
			cells = append(cells, figure(run))
		}
		g.Row(cells...)
	}
	for i, l := range r.Runs[0].Fairness.Levels {
		row(fmt.Sprintf("Jain's index, level %d", l.Depth), func(r sim.Result) string {
			if i >= len(r.Fairness.Levels) {
				return "-"
			}
			return decimals(r.Fairness.Levels[i].Jain, 3)
		})
	}
	row("largest deviation by a choice, slots", func(r sim.Result) string { return decimals(r.Fairness.OverSlots, 1) })
	row("… in job sizes", func(r sim.Result) string { return decimals(r.Fairness.OverJobs, 2) })
	row("below target, slot-hours", func(r sim.Result) string { return show.Units(r.Fairness.Short) })
	row("worst lag, slot-hours", func(r sim.Result) string { return show.Units(r.Fairness.WorstLag / 3600) })
	row("longest starvation", func(r sim.Result) string { return lasting(r.Fairness.StarvedS) })
	row("refusals while eligible", func(r sim.Result) string { return strconv.FormatInt(r.Fairness.Refused, 10) })
	row("free while a job was ready, slot-hours", func(r sim.Result) string { return show.Units(r.IdleSH) })
	row("jobs that overtook a wide one", func(r sim.Result) string { return strconv.Itoa(r.Overtook) })
	row("a job was ready for", func(r sim.Result) string { return lasting(r.WaitingS) })
	row("from first arrival to last end", func(r sim.Result) string { return lasting(r.EndS - r.BeginS) })
	g.Flush()
}

func decimals(f float64, n int) string { return strconv.FormatFloat(f, 'f', n, 64) }

// lasting is a number of seconds as people read it: 3d4h, 12m, 40s.
func lasting(seconds float64) string {
	begin := time.Unix(0, 0)
	return show.Age(begin.Add(time.Duration(seconds*float64(time.Second))), begin)
}

// writeSimCSV is a line for each rule, point and share: what it held and what it should have, in slot-hours.
func writeSimCSV(w io.Writer, r SimReport) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"rule", "from_s", "to_s", "share", "delivered_slot_hours", "target_slot_hours"}}
	for _, run := range r.Runs {
		for k := range run.Shares[0].HeldOver {
			from := run.BeginS + float64(k)*run.EveryS
			to := min(from+run.EveryS, run.EndS)
			for _, s := range run.Shares[1:] {
				rows = append(rows, []string{run.Rule, decimals(from, 0), decimals(to, 0), s.Path, decimals(s.HeldOver[k], 3), decimals(s.DueOver[k], 3)})
			}
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}

// writeSimPlot draws each share below the root: mean slots held over time, the target in dots behind it.
func writeSimPlot(w io.Writer, r SimReport, width int) error {
	for _, run := range r.Runs {
		for _, s := range run.Shares {
			if s.Depth != 1 || s.Delivered == 0 {
				continue
			}
			held, due := slotsOver(s.HeldOver, run.EveryS), slotsOver(s.DueOver, run.EveryS)
			days := float64(len(held)) * run.EveryS / 86400
			fmt.Fprintf(w, "%s  %s: slots held ─ and target ·, %s days from the first arrival\n", run.Rule, s.Path, decimals(days, 1))
			precision := show.Pick[uint](max(slices.Max(held), slices.Max(due)) < 10, 1, 0)
			text := asciigraph.PlotMany([][]float64{due, held}, asciigraph.Height(6), asciigraph.Width(min(120, max(width-12, 20))),
				asciigraph.LowerBound(0), asciigraph.Precision(precision),
				asciigraph.SeriesChars(asciigraph.CreateCharSet("·"), asciigraph.DefaultCharSet))
			if _, err := fmt.Fprintf(w, "%s\n\n", text); err != nil {
				return err
			}
		}
	}
	return nil
}

// slotsOver makes mean slots of slot-hours. A single point becomes two: a line needs them.
func slotsOver(slotHours []float64, everyS float64) []float64 {
	out := make([]float64, 0, max(2, len(slotHours)))
	for _, v := range slotHours {
		out = append(out, v*3600/everyS)
	}
	if len(out) == 1 {
		out = append(out, out[0])
	}
	return out
}
