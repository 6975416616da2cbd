package tools

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/divvyhq/divvy/cmd/divvy/plot"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares/sim"
)

// writeSimSVG draws each share below the root under every rule: on the left the mean slots that it held over its
// target, on the right its lag, ∫(target − held)dt: what differs between rules that deliver the same jobs in the end.
func writeSimSVG(w io.Writer, r SimReport) error {
	first := r.Runs[0]
	var nodes []int
	for i, s := range first.Shares {
		if s.Depth == 1 && s.Target > 0 {
			nodes = append(nodes, i)
		}
	}
	height := plot.Head + plot.Row*len(nodes) + plot.Foot
	var b strings.Builder
	title := html.EscapeString(fmt.Sprintf("%s: %s, %s slots", r.Trace, show.Plural(int64(r.Jobs), "job"), show.Units(first.Slots)))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n<title>%s</title>\n",
		plot.Width, height, plot.Width, height, title)
	b.WriteString(plot.Style)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d"/><text class="head" x="20" y="28">%s</text>`+"\n", plot.Width, height, title)
	drawLegend(&b, r.Runs)
	for k, node := range nodes {
		drawShare(&b, r.Runs, node, float64(plot.Head+k*plot.Row))
	}
	for _, x := range []int{plot.LeftPanel, plot.RightPanel} {
		fmt.Fprintf(&b, `<text class="mid" x="%d" y="%d">days from the first arrival</text>`+"\n", x+plot.PanelWidth/2, height-14)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func drawLegend(b *strings.Builder, runs []sim.Result) {
	const y = 52
	fmt.Fprintf(b, `<rect class="due" x="20" y="%d" width="28" height="10"/><text x="54" y="%d">target under %s</text>`+"\n", y-9, y, runs[0].Rule)
	for k, run := range runs {
		x := 200 + 110*k
		fmt.Fprintf(b, `<path class="line r%d" d="M%d %dh28"/><text x="%d" y="%d">%s</text>`+"\n", k, x, y-4, x+34, y, run.Rule)
	}
}

// drawShare draws the row of one share, top being where it begins.
func drawShare(b *strings.Builder, runs []sim.Result, node int, top float64) {
	step := runs[0].EveryS / 86400
	held, lags := plot.Panel{X: plot.LeftPanel, Y: top + 24}, plot.Panel{X: plot.RightPanel, Y: top + 24}
	due := slotsOver(runs[0].Shares[node].DueOver, runs[0].EveryS)
	held.Cover(step*float64(len(due)), due)
	heldBy, lagBy := make([][]float64, len(runs)), make([][]float64, len(runs))
	for k, run := range runs {
		s := run.Shares[node]
		step := run.EveryS / 86400
		heldBy[k], lagBy[k] = slotsOver(s.HeldOver, run.EveryS), lagOver(s)
		held.Cover(step*float64(len(heldBy[k])), heldBy[k])
		lags.Cover(step*float64(len(s.HeldOver)), lagBy[k])
	}
	name := html.EscapeString(runs[0].Shares[node].Path)
	held.Frame(b, name, "slots held")
	fmt.Fprintf(b, `<path class="due" d="M%s V%.1f H%.1fZ"/>`+"\n", held.Points(due, step/2, step), held.Down(0), held.Across(step/2))
	lags.Frame(b, name, "lag, slot-hours of target − held")
	for k, run := range runs {
		step := run.EveryS / 86400
		fmt.Fprintf(b, `<path class="line r%d" d="M%s"/>`+"\n", k, held.Points(heldBy[k], step/2, step))
		fmt.Fprintf(b, `<path class="line r%d" d="M%s"/>`+"\n", k, lags.Points(lagBy[k], 0, step))
	}
}

// lagOver adds up target − held, in slot-hours: 0 at the beginning, then at the end of each point.
func lagOver(s sim.Share) []float64 {
	out := make([]float64, 1, len(s.HeldOver)+1)
	for k := range s.HeldOver {
		out = append(out, out[k]+s.DueOver[k]-s.HeldOver[k])
	}
	return out
}
