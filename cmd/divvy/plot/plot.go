package plot

import (
	"fmt"
	"math"
	"strings"

	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Sizes of the picture, in pixels at 100 %: a row a share, two panels a row.
const (
	Width, Head, Foot       = 960, 72, 30
	Row                     = 172
	PanelWidth, panelHeight = 392, 112
	LeftPanel, RightPanel   = 60, 552
)

// Style has a background of its own, so that it is readable on any page; rules differ by dashes as well as by colour.
const Style = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.head{font-size:15px;font-weight:600}.name{font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}
.page{fill:#fff}.grid{stroke:#d0d7de;stroke-width:1}.zero{stroke:#6e7781;stroke-width:1}.due{fill:#d0d7de}.line{fill:none;stroke-width:1.6}
.r0{stroke:#0969da}.r1{stroke:#bc4c00;stroke-dasharray:7 3}.r2{stroke:#1a7f37;stroke-dasharray:2 2.5}.r3{stroke:#8250df;stroke-dasharray:10 3 2 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#30363d}.zero{stroke:#8b949e}.due{fill:#3d444d}.r0{stroke:#58a6ff}.r1{stroke:#f0883e}.r2{stroke:#56d364}.r3{stroke:#bc8cff}}
</style>
`

// Panel is one diagram: a figure over days.
type Panel struct {
	X, Y      float64 // of its upper left corner
	low, high float64
	days      float64
}

// Cover widens the panel until figures that reach so many days fit.
func (p *Panel) Cover(days float64, figures []float64) {
	p.days = max(p.days, days)
	for _, f := range figures {
		p.low, p.high = min(p.low, f), max(p.high, f)
	}
}

// Across is where a day is, in pixels.
func (p *Panel) Across(day float64) float64 { return p.X + PanelWidth*day/p.days }

// Down is where a figure is, in pixels.
func (p *Panel) Down(figure float64) float64 {
	return p.Y + panelHeight*(p.high-figure)/(p.high-p.low)
}

// Points are the figures as a path: the first one at a day, the others steps apart.
func (p *Panel) Points(figures []float64, day, step float64) string {
	out := make([]string, len(figures))
	for k, f := range figures {
		out[k] = fmt.Sprintf("%.1f %.1f", p.Across(day+step*float64(k)), p.Down(f))
	}
	return strings.Join(out, "L")
}

// Frame draws axes and what they mean.
func (p *Panel) Frame(b *strings.Builder, name, what string) {
	if p.high == p.low {
		p.high = p.low + 1
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f"><tspan class="name">%s</tspan>, %s</text>`+"\n", p.X, p.Y-8, name, what)
	for _, f := range Ticks(p.low, p.high, 4) {
		y := p.Down(f)
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1fh%d"/><text class="end" x="%.1f" y="%.1f">%g</text>`+"\n",
			show.Pick(f == 0, "zero", "grid"), p.X, y, PanelWidth, p.X-6, y+4, f)
	}
	for _, day := range Ticks(0, p.days, 8) {
		fmt.Fprintf(b, `<text class="mid" x="%.1f" y="%.1f">%g</text>`+"\n", p.Across(day), p.Y+panelHeight+16, day)
	}
}

// Ticks are round figures from low to high, about n.
func Ticks(low, high float64, n int) []float64 {
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
