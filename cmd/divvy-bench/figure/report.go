package figure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what came out.
type Report struct {
	Began    time.Time `json:"began"`
	TookS    float64   `json:"took_s"`
	Sizes    any       `json:"sizes,omitempty"` // what the run was asked to measure
	Figures  []Figure  `json:"figures"`
	Skipped  []Skip    `json:"skipped,omitempty"` // what could not be measured here
	Checks   []string  `json:"checks"`            // what was checked after which measurement
	Settings []Setting `json:"settings"`
	Commands []string  `json:"commands"`
	Samples  []Sample  `json:"samples,omitempty"` // of a day
	Costs    []Cost    `json:"costs,omitempty"`   // of the steps of a job
}

// Setting is a fact that a figure depends on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Skip is a measurement that was wanted and could not be made.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Sample is what a day weighed and how fast it was answered in a moment of it.
type Sample struct {
	Hour float64 `json:"hour"` // of the day, at the site; rests do not count
	// MemoryMB is what is resident of the daemon; Ends and CPUUS, its processor time an end, are since the sample before.
	MemoryMB float64 `json:"memory_mb"`
	Ends     float64 `json:"ends_per_s"`
	CPUUS    float64 `json:"cpu_us_an_end"`
	// P50 and P99 are milliseconds of the pulls that were answered with jobs since the sample before; Pulls is how many.
	Pulls int     `json:"pulls"`
	P50   float64 `json:"pull_p50_ms"`
	P99   float64 `json:"pull_p99_ms"`
	Weight
}

// Weight is what the database weighs.
type Weight struct {
	TablesMB   float64 `json:"tables_mb"`
	IndexesMB  float64 `json:"indexes_mb"`
	PassingMB  float64 `json:"passing_mb"`
	HistoryMB  float64 `json:"history_mb"`
	DeadRanges float64 `json:"dead_ranges"`
	DeadLeases float64 `json:"dead_leases"`
	Vacuums    float64 `json:"vacuums"`
	WALMB      float64 `json:"wal_mb"`
}

// Cost is what one step in the life of a job took.
type Cost struct {
	Step     string            `json:"step"`
	Jobs     int               `json:"jobs"`
	Seconds  float64           `json:"seconds"`
	WAL      float64           `json:"wal_bytes"`   // a job, as all below
	Postgres float64           `json:"postgres_us"` // processor time, checkpoints and vacuums of the while included
	Daemon   float64           `json:"daemon_us"`   // of the daemon; of jobs that are made ready: of the bench itself, which generates them
	Bytes    map[string]string `json:"bytes"`       // by table: rows + indexes
	Memory   string            `json:"memory,omitempty"`
}

func (c Cost) line() string {
	if c.Memory != "" {
		return c.Step + ": " + c.Memory
	}
	line := fmt.Sprintf("%s: %d jobs in %.1f s; each %.0f B of WAL, %.1f us of PostgreSQL, %.1f us of the daemon", c.Step, c.Jobs, c.Seconds, c.WAL, c.Postgres, c.Daemon)
	for _, name := range slices.Sorted(maps.Keys(c.Bytes)) {
		line += fmt.Sprintf("; %s %s B", name, c.Bytes[name])
	}
	return line
}

// Lines writes the verdicts, a line each, as scripts read them.
func (r *Report) Lines(w io.Writer) {
	for _, f := range r.Figures {
		fmt.Fprintln(w, f.Line())
	}
	for _, skipped := range r.Skipped {
		fmt.Fprintf(w, "%s skipped: %s\n", skipped.ID, skipped.Why)
	}
}

// Details writes what the verdicts were worked out of: rounds, checks, settings, commands.
func (r *Report) Details(w io.Writer) {
	var rounds, costs, settings []string
	for _, f := range r.Figures {
		for _, s := range f.Series {
			all := make([]string, len(s.Rounds))
			for i, v := range s.Rounds {
				all[i] = number(v)
			}
			rounds = append(rounds, fmt.Sprintf("%s  %s: %s %s (%s)", f.ID, s.Name, number(s.Median), s.Unit, strings.Join(all, " ")))
		}
	}
	for _, c := range r.Costs {
		costs = append(costs, c.line())
	}
	for _, s := range r.Settings {
		settings = append(settings, s.Name+" = "+s.Value)
	}
	began := fmt.Sprintf("rounds (median, all in order), %s, %.0f s", r.Began.UTC().Format("2006-01-02 15:04 MST"), r.TookS)
	for _, part := range []struct {
		title string
		lines []string
	}{{began, rounds}, {"costs", costs}, {"checks", r.Checks}, {"settings", settings}, {"commands", r.Commands}} {
		if part.title == "costs" && len(costs) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", part.title)
		for _, line := range part.lines {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// Worst is the smallest part of a target that was reached.
func (r *Report) Worst() (f Figure, ok bool) {
	for i, g := range r.Figures {
		if i == 0 || g.Attained() < f.Attained() {
			f, ok = g, true
		}
	}
	return f, ok
}

// Known is the report with targets replaced by what is known to be reached, by id and quantity.
func (r *Report) Known(reached map[string]float64) *Report {
	known := *r
	known.Figures = slices.Clone(r.Figures)
	for i, f := range known.Figures {
		if best, short := reached[f.ID+" "+f.Quantity]; short {
			known.Figures[i].Target = best
			known.Figures[i] = known.Figures[i].judged()
		}
	}
	return &known
}
