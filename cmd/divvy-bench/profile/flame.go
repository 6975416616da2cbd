package profile

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// frame is a function as it was called from those above it, with all that it called.
type frame struct {
	name  string
	value int64 // of the samples in it or below
	below map[string]*frame
}

func (f *frame) child(name string) *frame {
	c := f.below[name]
	if c == nil {
		c = &frame{name: name, below: map[string]*frame{}}
		f.below[name] = c
	}
	return c
}

// flame is the tree of all calls in a profile, by its last kind of value: nanoseconds for CPU, mutex and block.
func flame(p *profile.Profile) *frame {
	root := &frame{name: "all", below: map[string]*frame{}}
	for _, sample := range p.Sample {
		value := sample.Value[len(sample.Value)-1]
		at := root
		at.value += value
		for _, where := range slices.Backward(sample.Location) { // the innermost comes first, in both
			for _, line := range slices.Backward(where.Line) {
				if line.Function != nil {
					at = at.child(line.Function.Name)
					at.value += value
				}
			}
		}
	}
	return root
}

// In pixels. What is narrower than thinnest cannot be seen, nor what it called.
const (
	flameWidth = 1600.0
	flameRow   = 17
	flameHead  = 40
	letter     = 6.6
	thinnest   = 0.4
)

// depth is how many rows the frame takes, those that cannot be seen left out.
func (f *frame) depth(perUnit float64) (rows int) {
	for _, c := range f.below {
		if float64(c.value)*perUnit >= thinnest {
			rows = max(rows, c.depth(perUnit))
		}
	}
	return rows + 1
}

// writeTo draws the tree as SVG, callers above: a box is as wide as its share of the whole, and says its name and
// percentage when the pointer is on it. Siblings are sorted by name, so that two graphs can be compared.
func (f *frame) writeTo(w io.Writer, title string) {
	perUnit := 0.0
	if f.value > 0 {
		perUnit = flameWidth / float64(f.value)
	}
	height := flameHead + flameRow*f.depth(perUnit) + flameRow
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0[1]f" height="%[2]d" font-family="monospace" font-size="11">`+"\n",
		flameWidth, height)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" fill="#fff"/><text x="4" y="15" font-size="14">%s: %.2f s</text>`+"\n",
		html.EscapeString(title), float64(f.value)/1e9)
	x := 4.0
	for _, k := range kinds {
		fmt.Fprintf(w, `<text x="%.0f" y="32" fill="%s">■</text><text x="%.0f" y="32">%s</text>`+"\n", x, k.fill, x+14, k.name)
		x += 14 + letter*float64(len(k.name)+2)
	}
	f.box(w, canvas{perUnit: perUnit, whole: f.value}, 0, 0)
	fmt.Fprintln(w, "</svg>")
}

// canvas is what all boxes have in common.
type canvas struct {
	perUnit float64 // pixels
	whole   int64
}

func (f *frame) box(w io.Writer, on canvas, x float64, row int) {
	width := float64(f.value) * on.perUnit
	if width < thinnest {
		return
	}
	y := flameHead + row*flameRow
	percent := 100 * float64(f.value) / float64(on.whole)
	fmt.Fprintf(w, `<g><title>%s %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="#fff" stroke-width="0.5"/>`,
		html.EscapeString(f.name), percent, x, y, width, flameRow, fill(f.name))
	if text := []rune(f.name[strings.LastIndex(f.name, "/")+1:]); width > 3*letter {
		text = text[:min(len(text), int(width/letter)-1)]
		fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`, x+2, y+12, html.EscapeString(string(text)))
	}
	fmt.Fprintln(w, "</g>")
	names := make([]string, 0, len(f.below))
	for name := range f.below {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := f.below[name]
		c.box(w, on, x, row+1)
		x += float64(c.value) * on.perUnit
	}
}

// kinds of functions and their colours, by how the full name begins; the last one is for all others.
var kinds = []struct{ name, prefix, fill string }{
	{"divvy", "github.com/divvyhq/divvy/", "#f4a259"},
	{"the bench's own", "github.com/divvyhq/divvy/cmd/divvy-bench/", "#c9b79c"},
	{"pgx", "github.com/jackc/", "#8fb8de"},
	{"net, net/http", "net", "#a8d5a2"},
	{"kernel calls", "internal/runtime/syscall", "#e07a7a"},
	{"runtime", "runtime", "#d9c2e9"},
	{"others", "", "#dddddd"},
}

// fill is the colour of the longest prefix that fits.
func fill(name string) string {
	best := kinds[len(kinds)-1]
	for _, k := range kinds {
		if strings.HasPrefix(name, k.prefix) && len(k.prefix) > len(best.prefix) {
			best = k
		}
	}
	return best.fill
}
