package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"github.com/divvyhq/divvy/shares/sim"
)

// Sizes of the picture, in pixels at 100 %: a row a share, two panels a row.
const (
	svgWidth, svgHead, svgFoot = 960, 72, 30
	svgRow                     = 172
	panelWidth, panelHeight    = 392, 112
	leftPanel, rightPanel      = 60, 552
)

// svgStyle has a background of its own, so that it is readable on any page; rules differ by dashes as well as by colour.
const svgStyle = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.head{font-size:15px;font-weight:600}.name{font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}
.page{fill:#fff}.grid{stroke:#d0d7de;stroke-width:1}.zero{stroke:#6e7781;stroke-width:1}.due{fill:#d0d7de}.line{fill:none;stroke-width:1.6}
.r0{stroke:#0969da}.r1{stroke:#bc4c00;stroke-dasharray:7 3}.r2{stroke:#1a7f37;stroke-dasharray:2 2.5}.r3{stroke:#8250df;stroke-dasharray:10 3 2 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#30363d}.zero{stroke:#8b949e}.due{fill:#3d444d}.r0{stroke:#58a6ff}.r1{stroke:#f0883e}.r2{stroke:#56d364}.r3{stroke:#bc8cff}}
</style>
`

// writeSimSVG draws each share below the root under every rule: on the left the mean slots that it held over its
// target, on the right its lag, ∫(target − held)dt: what differs between rules that deliver the same jobs in the end.
func writeSimSVG(w io.Writer, r simReport) error {
	first := r.Runs[0]
	var nodes []int
	for i, s := range first.Shares {
		if s.Depth == 1 && s.Target > 0 {
			nodes = append(nodes, i)
		}
	}
	height := svgHead + svgRow*len(nodes) + svgFoot
	var b strings.Builder
	title := html.EscapeString(fmt.Sprintf("%s: %s, %s slots", r.Trace, plural(int64(r.Jobs), "job"), units(first.Slots)))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n<title>%s</title>\n",
		svgWidth, height, svgWidth, height, title)
	b.WriteString(svgStyle)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d"/><text class="head" x="20" y="28">%s</text>`+"\n", svgWidth, height, title)
	drawLegend(&b, r.Runs)
	for k, node := range nodes {
		drawShare(&b, r.Runs, node, float64(svgHead+k*svgRow))
	}
	for _, x := range []int{leftPanel, rightPanel} {
		fmt.Fprintf(&b, `<text class="mid" x="%d" y="%d">days from the first arrival</text>`+"\n", x+panelWidth/2, height-14)
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
	held, lags := panel{x: leftPanel, y: top + 24}, panel{x: rightPanel, y: top + 24}
	due := slotsOver(runs[0].Shares[node].DueOver, runs[0].EveryS)
	held.cover(step*float64(len(due)), due)
	heldBy, lagBy := make([][]float64, len(runs)), make([][]float64, len(runs))
	for k, run := range runs {
		s := run.Shares[node]
		step := run.EveryS / 86400
		heldBy[k], lagBy[k] = slotsOver(s.HeldOver, run.EveryS), lagOver(s)
		held.cover(step*float64(len(heldBy[k])), heldBy[k])
		lags.cover(step*float64(len(s.HeldOver)), lagBy[k])
	}
	name := html.EscapeString(runs[0].Shares[node].Path)
	held.frame(b, name, "slots held")
	fmt.Fprintf(b, `<path class="due" d="M%s V%.1f H%.1fZ"/>`+"\n", held.points(due, step/2, step), held.down(0), held.across(step/2))
	lags.frame(b, name, "lag, slot-hours of target − held")
	for k, run := range runs {
		step := run.EveryS / 86400
		fmt.Fprintf(b, `<path class="line r%d" d="M%s"/>`+"\n", k, held.points(heldBy[k], step/2, step))
		fmt.Fprintf(b, `<path class="line r%d" d="M%s"/>`+"\n", k, lags.points(lagBy[k], 0, step))
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

// panel is one diagram: a figure over days.
type panel struct {
	x, y      float64 // of its upper left corner
	low, high float64
	days      float64
}

// cover widens the panel until figures that reach so many days fit.
func (p *panel) cover(days float64, figures []float64) {
	p.days = max(p.days, days)
	for _, f := range figures {
		p.low, p.high = min(p.low, f), max(p.high, f)
	}
}

func (p *panel) across(day float64) float64 { return p.x + panelWidth*day/p.days }

func (p *panel) down(figure float64) float64 {
	return p.y + panelHeight*(p.high-figure)/(p.high-p.low)
}

// points are the figures as a path: the first one at a day, the others steps apart.
func (p *panel) points(figures []float64, day, step float64) string {
	out := make([]string, len(figures))
	for k, f := range figures {
		out[k] = fmt.Sprintf("%.1f %.1f", p.across(day+step*float64(k)), p.down(f))
	}
	return strings.Join(out, "L")
}

// frame draws axes and what they mean.
func (p *panel) frame(b *strings.Builder, name, what string) {
	if p.high == p.low {
		p.high = p.low + 1
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f"><tspan class="name">%s</tspan>, %s</text>`+"\n", p.x, p.y-8, name, what)
	for _, f := range ticks(p.low, p.high, 4) {
		y := p.down(f)
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1fh%d"/><text class="end" x="%.1f" y="%.1f">%g</text>`+"\n",
			pick(f == 0, "zero", "grid"), p.x, y, panelWidth, p.x-6, y+4, f)
	}
	for _, day := range ticks(0, p.days, 8) {
		fmt.Fprintf(b, `<text class="mid" x="%.1f" y="%.1f">%g</text>`+"\n", p.across(day), p.y+panelHeight+16, day)
	}
}

// ticks are round figures from low to high, about n.
func ticks(low, high float64, n int) []float64 {
	least := 0.75 * (high - low) / float64(n)
	decade := math.Pow(10, math.Floor(math.Log10(least)))
	step := 10 * decade
	for _, m := range []float64{5, 2, 1} {
		if m*decade >= least {
			step = m * decade
		}
	}
	var out []float64
	for k := math.Ceil(low / step); k*step <= high; k++ {
		out = append(out, math.Round(k*step*1e6)/1e6+0) // + 0: not -0
	}
	return out
}
