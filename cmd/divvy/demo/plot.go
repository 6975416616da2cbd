package demo

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Point is the standing of a leaf at one moment, in seconds from the start of the window.
type Point struct {
	T      float64 `json:"t"`
	Target float64 `json:"target"`
	Held   float64 `json:"held"`
}

// Series is one leaf over time.
type Series struct {
	Share  string  `json:"share"`
	Points []Point `json:"points"`
}

// Plot is held against target, one panel a leaf, all to the same scale.
type Plot struct {
	Title  string
	Series []Series
	Until  float64 // seconds: the width of the window
	Marks  []Mark
}

// Mark is a moment worth a line through all panels.
type Mark struct {
	T    float64
	Text string
}

const (
	plotWidth    = 900
	plotLeft     = 150
	plotRight    = 20
	plotTop      = 70
	panelHeight  = 74
	panelGap     = 14
	heldColour   = "#9ecae1"
	heldLine     = "#3182bd"
	targetColour = "#d94801"
	quietColour  = "#999999"
)

// WriteSVG draws the plot. It is plain SVG 1.1 without scripts or fonts of its own.
func (p Plot) WriteSVG(w io.Writer) error {
	top := p.highest()
	height := plotTop + len(p.Series)*(panelHeight+panelGap) + 40
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, height, plotWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, height)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="16">%s</text>`+"\n", plotLeft, html.EscapeString(p.Title))
	fmt.Fprintf(&b, `<rect x="%d" y="36" width="14" height="10" fill="%s"/><text x="%d" y="46">held</text>`, plotLeft, heldColour, plotLeft+20)
	fmt.Fprintf(&b, `<line x1="%d" y1="41" x2="%d" y2="41" stroke="%s" stroke-width="2"/><text x="%d" y="46">target (slots)</text>`+"\n",
		plotLeft+70, plotLeft+90, targetColour, plotLeft+96)
	for i, s := range p.Series {
		p.panel(&b, s, plotTop+i*(panelHeight+panelGap), top)
	}
	bottom := height - 40
	for _, m := range p.Marks {
		x := p.x(m.T)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s" stroke-dasharray="4 3"/>`, x, plotTop-8, x, bottom, quietColour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555555">%s</text>`+"\n", x, plotTop-12, html.EscapeString(m.Text))
	}
	p.seconds(&b, bottom)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// panel draws one leaf with its upper edge at y.
func (p Plot) panel(b *strings.Builder, s Series, y int, top float64) {
	at := func(v float64) float64 { return float64(y) + panelHeight*(1-v/top) }
	base := float64(y + panelHeight)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotLeft-34, y+panelHeight/2+4, html.EscapeString(s.Share))
	for v := 0.0; v <= top; v += gridStep(top) {
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eeeeee"/><text x="%d" y="%.1f" text-anchor="end" font-size="10" fill="%s">%g</text>`+"\n",
			plotLeft, at(v), plotWidth-plotRight, at(v), plotLeft-8, at(v)+3, quietColour, v)
	}
	held, target := &strings.Builder{}, &strings.Builder{}
	for i, pt := range s.Points {
		if i > 0 { // a value holds until the next sample: steps
			fmt.Fprintf(held, " H%.1f", p.x(pt.T))
			fmt.Fprintf(target, " H%.1f", p.x(pt.T))
		} else {
			fmt.Fprintf(held, "M%.1f %.1f", p.x(pt.T), base)
			fmt.Fprintf(target, "M%.1f %.1f", p.x(pt.T), at(pt.Target))
		}
		fmt.Fprintf(held, " V%.1f", at(pt.Held))
		fmt.Fprintf(target, " V%.1f", at(pt.Target))
	}
	if len(s.Points) == 0 {
		return
	}
	fmt.Fprintf(b, `<path d="%s H%.1f V%.1f Z" fill="%s" stroke="%s" stroke-width="0.6"/>`+"\n", held, p.x(p.Until), base, heldColour, heldLine)
	fmt.Fprintf(b, `<path d="%s H%.1f" fill="none" stroke="%s" stroke-width="2"/>`+"\n", target, p.x(p.Until), targetColour)
}

// seconds draws the axis of time under the last panel.
func (p Plot) seconds(b *strings.Builder, y int) {
	step := gridStep(p.Until)
	for t := 0.0; t <= p.Until+1e-9; t += step {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" font-size="10" fill="%s">%g s</text>`+"\n", p.x(t), y+14, quietColour, t)
	}
}

func (p Plot) x(t float64) float64 {
	if p.Until <= 0 {
		return plotLeft
	}
	return plotLeft + min(max(t/p.Until, 0), 1)*(plotWidth-plotLeft-plotRight)
}

// highest is the top of all panels, at least 1.
func (p Plot) highest() float64 {
	top := 1.0
	for _, s := range p.Series {
		for _, pt := range s.Points {
			top = max(top, pt.Held, pt.Target)
		}
	}
	return math.Ceil(top)
}

// gridStep is 1, 2 or 5 times a power of ten, for three to eight lines.
func gridStep(top float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(max(top, 1e-9))))
	for _, f := range []float64{0.1, 0.2, 0.5, 1, 2} {
		if top/(step*f) <= 6 {
			return max(step*f, 1)
		}
	}
	return step
}
