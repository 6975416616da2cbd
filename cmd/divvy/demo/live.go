package demo

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/divvyhq/divvy/api/wire"
)

// Screen says what the live view may do. Draw writes the share tree; it is the command line's own table.
type Screen struct {
	Out    io.Writer
	Live   bool // a terminal: redraw in place
	Width  int
	Colour bool
	Draw   func(io.Writer, wire.Standing)
}

// frame is what the view shows at one moment.
type frame struct {
	elapsed, total time.Duration
	story          string // what is going on, in words
	standing       wire.Standing
	finished       int64
	failed         int64
}

// view draws frames: a picture that is redrawn on a terminal, else a line every two seconds.
type view struct {
	Screen
	held     map[string][]float64
	drawn    bool
	lastLine time.Duration
}

const (
	historyPoints = 64
	lineEvery     = 2 * time.Second
)

func newView(s Screen) *view {
	return &view{Screen: s, held: map[string][]float64{}, lastLine: -lineEvery}
}

// say writes a line that stays.
func (v *view) say(format string, args ...any) {
	v.drawn = false
	fmt.Fprintf(v.Out, format+"\n", args...)
}

func (v *view) show(f frame) {
	leaves := leavesOf(f.standing)
	for _, s := range leaves {
		h := append(v.held[s.Path], s.Held)
		v.held[s.Path] = h[max(0, len(h)-historyPoints):]
	}
	if !v.Live {
		v.line(f, leaves)
		return
	}
	var b strings.Builder
	if v.drawn {
		b.WriteString("\x1b[H")
	} else {
		b.WriteString("\x1b[2J\x1b[H")
	}
	fmt.Fprintf(&b, "divvy demo  %2.0f s of %.0f s   %s\n\n", f.elapsed.Seconds(), f.total.Seconds(), f.story)
	v.Draw(&b, f.standing)
	fmt.Fprintf(&b, "\njobs: %d finished, %d failed\n\n", f.finished, f.failed)
	b.WriteString(v.graph())
	v.drawn = true
	text := strings.ReplaceAll(b.String(), "\n", "\x1b[K\n")
	io.WriteString(v.Out, text+"\x1b[J")
}

// line is the view for a log file.
func (v *view) line(f frame, leaves []wire.ShareStanding) {
	if f.elapsed-v.lastLine < lineEvery {
		return
	}
	v.lastLine = f.elapsed
	var b strings.Builder
	for _, s := range leaves {
		fmt.Fprintf(&b, "  %s %.0f/%.1f", path.Base(s.Path), s.Held, s.Target)
	}
	fmt.Fprintf(v.Out, "%3.0f s  held/target%s   %d jobs finished, %d failed\n", f.elapsed.Seconds(), b.String(), f.finished, f.failed)
}

// graph is the last seconds of the leaves whose slots move between them.
func (v *view) graph() string {
	var data [][]float64
	var legends []string
	for _, leaf := range Leaves {
		if path.Dir(leaf) == lateParent && len(v.held[leaf]) > 1 {
			data = append(data, v.held[leaf])
			legends = append(legends, path.Base(leaf))
		}
	}
	if len(data) == 0 {
		return ""
	}
	opts := []asciigraph.Option{asciigraph.Height(6), asciigraph.Width(min(historyPoints, max(v.Width-12, 20))),
		asciigraph.LowerBound(0), asciigraph.UpperBound(6), asciigraph.Precision(0), asciigraph.Caption("slots held")}
	if v.Colour {
		opts = append(opts, asciigraph.SeriesColors(asciigraph.Blue, asciigraph.Green, asciigraph.Red), asciigraph.SeriesLegends(legends...))
	}
	return asciigraph.PlotMany(data, opts...) + "\n"
}

func leavesOf(st wire.Standing) (leaves []wire.ShareStanding) {
	for _, p := range st.Pools {
		for _, s := range p.Shares {
			if s.Leaf {
				leaves = append(leaves, s)
			}
		}
	}
	return leaves
}
