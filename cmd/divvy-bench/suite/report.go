package suite

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

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
	fmt.Fprintf(w, "\nrounds (median, all in order), %s, %.0f s:\n", r.Began.UTC().Format("2006-01-02 15:04 MST"), r.TookS)
	for _, f := range r.Figures {
		for _, s := range f.Series {
			all := make([]string, len(s.Rounds))
			for i, v := range s.Rounds {
				all[i] = number(v)
			}
			fmt.Fprintf(w, "  %s  %s: %s %s (%s)\n", f.ID, s.Name, number(s.Median), s.Unit, strings.Join(all, " "))
		}
	}
	if len(r.Costs) > 0 {
		fmt.Fprintln(w, "\ncosts:")
	}
	for _, c := range r.Costs {
		c.line(w)
	}
	fmt.Fprintln(w, "\nchecks:")
	for _, c := range r.Checks {
		fmt.Fprintln(w, "  "+c)
	}
	fmt.Fprintln(w, "\nsettings:")
	for _, s := range r.Settings {
		fmt.Fprintf(w, "  %s = %s\n", s.Name, s.Value)
	}
	fmt.Fprintln(w, "\ncommands:")
	for _, c := range r.Commands {
		fmt.Fprintln(w, "  "+c)
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

// Known is the report with every target that was missed on the machine of docs/performance.md replaced by what was
// reached there: a test by it finds what has become worse.
func (r *Report) Known() *Report {
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
