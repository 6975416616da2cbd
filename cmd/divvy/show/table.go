package show

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// Grid is a table without lines: columns two spaces apart, as in most command lines. A header that starts
// with '>' is right-aligned.
type Grid struct {
	t      table.Writer
	w      io.Writer
	Colour bool
}

// New makes a grid. A header that starts with > is that of a column of figures.
func New(w io.Writer, headers ...string) *Grid {
	g := &Grid{t: table.NewWriter(), w: w, Colour: Colourful(w)}
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	g.t.SetStyle(style)
	g.t.SuppressTrailingSpaces()
	row := make(table.Row, len(headers))
	columns := make([]table.ColumnConfig, 0, len(headers))
	for i, h := range headers {
		name, right := strings.CutPrefix(h, ">")
		row[i] = name
		if right {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	g.t.AppendHeader(row)
	g.t.SetColumnConfigs(columns)
	return g
}

// NewFacts is a grid of two columns, key and value, without a header.
func NewFacts(w io.Writer) *Grid {
	g := New(w)
	g.t.ResetHeaders()
	return g
}

// Row adds a row.
func (g *Grid) Row(cells ...any) { g.t.AppendRow(cells) }

// Some adds a fact, unless there is nothing to say.
func (g *Grid) Some(key, value string) {
	if value != "" {
		g.Row(key, value)
	}
}

// Table is how things of one kind are listed, a row each.
type Table[T any] struct {
	Heads []string                   // as New takes them
	Wide  []string                   // more of them, where there is room
	Row   func(g *Grid, one T) []any // cells of all
}

// Write lists all.
func (t Table[T]) Write(w io.Writer, all []T, wide bool) {
	heads := t.Heads
	if wide {
		heads = slices.Concat(t.Heads, t.Wide)
	}
	g := New(w, heads...)
	for _, one := range all {
		g.Row(t.Row(g, one)[:len(heads)]...)
	}
	g.Flush()
}

// Flush prints the grid.
func (g *Grid) Flush() {
	io.WriteString(g.w, g.t.Render()+"\n")
}

// State colours the word of a state: green is good, red is bad, yellow waits for an action.
func (g *Grid) State(s string) string { return ColourState(s, g.Colour) }

// ColourState is the word of a state, in its colour if colours are wanted.
func ColourState(s string, colour bool) string {
	if !colour {
		return s
	}
	switch s {
	case "running", "leased", "starting":
		return text.FgCyan.Sprint(s)
	case "finished", "done", "online", "recorded", "ok":
		return text.FgGreen.Sprint(s)
	case "failed", "lost", "aborted", "offline", "revoked", "bad":
		return text.FgRed.Sprint(s)
	case "waiting", "paused", "drain", "throttled", "exhausted", "cancelled", "aborting", "warn":
		return text.FgYellow.Sprint(s)
	}
	return s
}

// Units prints a figure in units: whole ones without decimals, others with one.
func Units(f float64) string {
	if f < 0 && f > -0.05 {
		f = 0
	}
	if math.Abs(f-math.Round(f)) < 0.05 {
		return strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// Capacity prints a number of units of which a negative one means no limit.
func Capacity(f float64) string {
	if f < 0 {
		return "unlimited"
	}
	return Units(f)
}

// OrDash prints nothing as "-".
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Age is how long ago t was, in its two largest parts at most: 3d4h, 12m, 40s.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < 24*time.Hour:
		return config.ShortDuration(d.Truncate(time.Minute))
	}
	days := int(d / (24 * time.Hour))
	hours := int(d/time.Hour) % 24
	if hours == 0 {
		return strconv.Itoa(days) + "d"
	}
	return strconv.Itoa(days) + "d" + strconv.Itoa(hours) + "h"
}

// Branches draws the lines of a tree: given the depth of each node in order, the prefix of its name.
func Branches(depths []int) []string {
	out := make([]string, len(depths))
	more := map[int]bool{} // depth → a later sibling exists below
	for i := len(depths) - 1; i >= 0; i-- {
		d := depths[i]
		var b strings.Builder
		for l := 1; l < d; l++ {
			b.WriteString(Pick(more[l], "│  ", "   "))
		}
		if d > 0 {
			b.WriteString(Pick(more[d], "├─ ", "└─ "))
		}
		out[i] = b.String()
		more[d] = true
		for l := range more {
			if l > d {
				more[l] = false
			}
		}
	}
	return out
}

// Pick is one of two values.
func Pick[T any](ok bool, yes, no T) T {
	if ok {
		return yes
	}
	return no
}

// Bar draws held against target in width cells: full up to held, light up to the target.
func Bar(held, target, full float64, width int) string {
	if full <= 0 {
		return strings.Repeat("·", width)
	}
	h := min(int(math.Round(held/full*float64(width))), width)
	t := min(int(math.Round(target/full*float64(width))), width)
	return strings.Repeat("█", h) + strings.Repeat("░", max(t-h, 0)) + strings.Repeat(" ", width-max(h, t))
}

// Plural is "1 job" or "2 jobs".
func Plural(n int64, what string) string {
	return fmt.Sprintf("%d %s%s", n, what, Pick(n == 1, "", "s"))
}
