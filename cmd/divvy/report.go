package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// forCSV marks commands that know -o csv.
const forCSV = "csv"

// reportCommand prints a report that has a name.
func reportCommand(c *cli) *cobra.Command {
	var since string
	names := make([]string, 0, len(report.List()))
	var list strings.Builder
	for _, r := range report.List() {
		names = append(names, r.Name)
		fmt.Fprintf(&list, "  %-10s %s\n", r.Name, r.Title)
	}
	cmd := &cobra.Command{Use: "report [NAME]", Short: "Print a report: usage, waits, fairness, errors, ...", Args: atMost("NAME, the name of a report"),
		Example: "  divvy report usage --since 7d\n  divvy report days --since 30d -o csv > days.csv\n  divvy report",
		Long: `Print a report. Reports by the hour or day begin with the whole one (UTC) that --since lies in: the heading says what they cover. Without a name, list them:

` + list.String() + `
They are statements about the views of schema report, which docs/reporting.md describes, with more questions.`,
		ValidArgsFunction: fixed(names...), Annotations: map[string]string{forCSV: "yes"},
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, args []string) error {
			if len(args) == 0 {
				return c.listReports(ctx, cl)
			}
			t, err := cl.Report(ctx, args[0], since)
			if near := strict.Closest(args[0], names); err != nil && near != "" && near != args[0] {
				return hintf(err, "Did you mean 'divvy report %s'?", near)
			}
			if err != nil {
				return err
			}
			if c.output == "csv" {
				return writeReportCSV(c.out, t)
			}
			return c.print(t, func(w io.Writer) { writeReport(w, t) })
		})}
	cmd.Flags().StringVar(&since, "since", "24h", "how far back to look: 90m, 24h, 30d")
	return cmd
}

func (c *cli) listReports(ctx context.Context, cl *client.Client) error {
	all, err := cl.Reports(ctx)
	if err != nil {
		return err
	}
	if c.output == "csv" {
		w := csv.NewWriter(c.out)
		_ = w.Write([]string{"report", "title"}) // kept until Flush
		for _, r := range all {
			_ = w.Write([]string{r.Name, r.Title})
		}
		w.Flush()
		return w.Error()
	}
	return c.print(client.Page[client.Report]{Items: all}, func(w io.Writer) {
		g := newGrid(w, "report", "what it answers")
		for _, r := range all {
			g.row(r.Name, r.Title)
		}
		g.flush()
	})
}

// writeReport prints a report for people: numbers to the right, what is unknown as a dash.
func writeReport(w io.Writer, t client.ReportTable) {
	if !t.Now {
		const minute = "2006-01-02 15:04"
		fmt.Fprintf(w, "%s, from %s to %s\n\n", t.Title, t.From.UTC().Format(minute), t.Until.UTC().Format(minute+" MST"))
	}
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = pick(c.Numeric, ">", "") + strings.ReplaceAll(c.Name, "_", " ")
	}
	g := newGrid(w, heads...)
	for _, row := range t.Rows {
		cells := make([]any, len(row))
		for i, cell := range row {
			if cells[i] = "-"; cell != nil && *cell != "" {
				cells[i] = *cell
			}
		}
		g.row(cells...)
	}
	g.flush()
}

// writeReportCSV prints it for programs: names of columns first, nothing where something is unknown.
func writeReportCSV(out io.Writer, t client.ReportTable) error {
	w := csv.NewWriter(out)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	_ = w.Write(line) // errors come with Flush
	for _, row := range t.Rows {
		for i, cell := range row {
			if line[i] = ""; cell != nil {
				line[i] = *cell
			}
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}
