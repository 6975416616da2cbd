package main

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy/plot"
)

// dayCurve is one line of a diagram of a day.
type dayCurve struct {
	name string
	of   func(figure.Sample) float64
}

// dayDiagrams are what is drawn of a day, two a row.
var dayDiagrams = []struct {
	name, what string
	curves     []dayCurve
}{
	{"memory", "daemon, MB resident", []dayCurve{{"memory", func(s figure.Sample) float64 { return s.MemoryMB }}}},
	{"pulls", "those that brought jobs, ms", []dayCurve{{"p50", func(s figure.Sample) float64 { return s.P50 }}, {"p99", func(s figure.Sample) float64 { return s.P99 }}}},
	{"live tables", "MB", []dayCurve{{"rows", func(s figure.Sample) float64 { return s.TablesMB }}, {"indexes", func(s figure.Sample) float64 { return s.IndexesMB }}}},
	{"dead rows", "as estimated", []dayCurve{{"ranges", func(s figure.Sample) float64 { return s.DeadRanges }}, {"leases", func(s figure.Sample) float64 { return s.DeadLeases }}}},
	{"ends", "jobs that ended a second", []dayCurve{{"ends", func(s figure.Sample) float64 { return s.Ends }}}},
	{"processor time", "daemon, µs an end", []dayCurve{{"time", func(s figure.Sample) float64 { return s.CPUUS }}}},
	{"kept", "by intent, MB", []dayCurve{{"history", func(s figure.Sample) float64 { return s.HistoryMB }}, {"ledger", func(s figure.Sample) float64 { return s.PassingMB }}}},
	{"WAL", "MB in all", []dayCurve{{"WAL, MB", func(s figure.Sample) float64 { return s.WALMB }}}},
}

// writeDaySVG draws the samples of a day over its hours.
func writeDaySVG(w io.Writer, title string, samples []figure.Sample) error {
	rows := (len(dayDiagrams) + 1) / 2
	height := plot.Head + plot.Row*rows + plot.Foot
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n<title>%s</title>\n%s",
		plot.Width, height, plot.Width, height, html.EscapeString(title), plot.Style)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d"/><text class="head" x="20" y="28">%s</text>`+"\n", plot.Width, height, html.EscapeString(title))
	fmt.Fprintf(&b, `<text x="20" y="52">over the hours of the day, rests left out; a point is %s</text>`+"\n", pointOf(samples))
	for k, d := range dayDiagrams {
		drawDay(&b, plot.Panel{X: []float64{plot.LeftPanel, plot.RightPanel}[k%2], Y: float64(plot.Head + k/2*plot.Row + 24)}, d.name, d.what, d.curves, samples)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// pointOf says how long a point of the lines lasts at the site.
func pointOf(samples []figure.Sample) string {
	if len(samples) < 2 {
		return "all of it"
	}
	minutes := 60 * (samples[len(samples)-1].Hour - samples[0].Hour) / float64(len(samples)-1)
	return fmt.Sprintf("%.0f minutes of it", minutes)
}

func drawDay(b *strings.Builder, p plot.Panel, name, what string, curves []dayCurve, samples []figure.Sample) {
	lines := make([][]float64, len(curves))
	for k, c := range curves {
		for _, s := range samples {
			lines[k] = append(lines[k], c.of(s))
		}
		p.Cover(samples[len(samples)-1].Hour, lines[k])
	}
	p.Frame(b, name, what)
	for k, line := range lines {
		points := make([]string, len(line))
		for i, v := range line {
			points[i] = fmt.Sprintf("%.1f %.1f", p.Across(samples[i].Hour), p.Down(v))
		}
		fmt.Fprintf(b, `<path class="line r%d" d="M%s"/>`+"\n", k, strings.Join(points, "L"))
		if len(curves) > 1 {
			x := p.X + plot.PanelWidth - 150 + 75*float64(k)
			fmt.Fprintf(b, `<path class="line r%d" d="M%.0f %.0fh20"/><text x="%.0f" y="%.0f">%s</text>`+"\n", k, x, p.Y-12, x+24, p.Y-8, curves[k].name)
		}
	}
}

// plotDay writes day.csv and day.svg into a folder.
func plotDay(dir string, report *figure.Report) error {
	if len(report.Samples) == 0 {
		return fmt.Errorf("--plot: the day was too short for a sample")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	day := report.Settings[0].Value
	for _, s := range report.Settings {
		if s.Name == "day" {
			day = s.Value
		}
	}
	title := day + ", " + report.Began.UTC().Format("2006-01-02")
	for name, write := range map[string]func(io.Writer) error{
		"day.csv": func(w io.Writer) error { return writeSamples(w, report.Samples) },
		"day.svg": func(w io.Writer) error { return writeDaySVG(w, title, report.Samples) },
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeSamples writes them as CSV, a line a sample.
func writeSamples(w io.Writer, samples []figure.Sample) error {
	c := csv.NewWriter(w)
	lines := [][]string{{"hour", "memory_mb", "ends_per_s", "cpu_us_an_end", "pulls", "pull_p50_ms", "pull_p99_ms", "tables_mb", "indexes_mb", "passing_mb", "history_mb",
		"dead_ranges", "dead_leases", "vacuums", "wal_mb"}}
	for _, x := range samples {
		var line []string
		for _, v := range []float64{x.Hour, x.MemoryMB, x.Ends, x.CPUUS, float64(x.Pulls), x.P50, x.P99, x.TablesMB, x.IndexesMB, x.PassingMB, x.HistoryMB,
			x.DeadRanges, x.DeadLeases, x.Vacuums, x.WALMB} {
			line = append(line, strconv.FormatFloat(v, 'f', 3, 64))
		}
		lines = append(lines, line)
	}
	return c.WriteAll(lines)
}
