package steer

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// Report prints a report that has a name.
func Report(c *cli.CLI) *cobra.Command {
	var since, by, database string
	names := make([]string, 0, len(report.List()))
	var list strings.Builder
	for _, r := range report.List() {
		names = append(names, r.Name)
		fmt.Fprintf(&list, "  %-10s %s\n", r.Name, r.Title)
	}
	show := func(t wire.Table, name string, err error) error {
		if near := strict.Closest(name, names); err != nil && near != "" && near != name {
			return fail.Hintf(err, "Did you mean 'divvy report %s'?", near)
		}
		if err != nil {
			return err
		}
		if c.Output == "csv" {
			return writeReportCSV(c.Out, t)
		}
		return c.Print(t, func(w io.Writer) { writeReport(w, t) })
	}
	daemon := c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		if len(args) == 0 {
			return listReports(ctx, c, cl)
		}
		t, err := cl.Reports().Get(ctx, args[0], by, since)
		return show(t, args[0], err)
	})
	cmd := &cobra.Command{Use: "report [NAME]", Short: "Print a report: usage, waits, fairness, errors, ...", Args: cli.AtMost("NAME, the name of a report"),
		Example: "  divvy report usage --since 7d\n  divvy report days --since 30d -o csv > days.csv\n  divvy report users --since 30d --database postgres://grafana@replica/divvy\n  divvy report errors --by user\n  divvy report",
		Long: `Print a report. Reports by the hour or day begin with the whole one (UTC) that --since lies in: the heading says what they cover. Without a name, list them:

` + list.String() + `
They are statements about the views of schema report, which docs/reporting.md describes, with more questions. A daemon answers them; with --database
they are read from that server, which may be a replica: then they end with the last commit that it has heard of.`,
		ValidArgsFunction: cli.Fixed(names...), Annotations: map[string]string{cli.ForCSV: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if database == "" {
				return daemon(cmd, args)
			}
			if len(args) == 0 {
				return fail.Usagef("--database reads a report: name it; 'divvy report' lists them")
			}
			t, err := reportFrom(cmd.Context(), database, reportAsk{args[0], by, since})
			return show(t, args[0], err)
		}}
	cmd.Flags().StringVar(&since, "since", "24h", "how far back to look: 90m, 24h, 30d")
	cmd.Flags().StringVar(&by, "by", "", "break it down: errors by task, user or share; waits by user")
	_ = cmd.RegisterFlagCompletionFunc("by", cli.Fixed("task", "user", "share"))
	cmd.Flags().StringVar(&database, "database", "", "read from this server instead of asking a daemon: DSN of divvy's database or a replica; the role divvy_reader is enough")
	return cmd
}

// reportAsk is which report is wanted, broken down by what, and how far back.
type reportAsk struct{ name, by, since string }

// reportFrom reads a report from a server, without a daemon.
func reportFrom(ctx context.Context, dsn string, ask reportAsk) (t wire.Table, err error) {
	span, err := shares.ParseDuration(ask.since)
	if err != nil || span <= 0 {
		return t, fail.Usagef("--since %q: expected a duration above 0 and up to 36500d, such as 90m, 24h or 30d", ask.since)
	}
	pool, err := pg.Open(ctx, dsn, pg.MaxConns(1), pg.Name("divvy report"), pg.ReadOnly())
	if err != nil {
		return t, err
	}
	defer pool.Close()
	table, err := report.NewReader(pool).Run(ctx, ask.name, ask.by, time.Now().Add(-time.Duration(span)))
	return wire.As[wire.Table](table), err
}

func listReports(ctx context.Context, c *cli.CLI, cl *client.Client) error {
	all, err := cl.Reports().List(ctx)
	if err != nil {
		return err
	}
	if c.Output == "csv" {
		w := csv.NewWriter(c.Out)
		_ = w.Write([]string{"report", "title"}) // kept until Flush
		for _, r := range all {
			_ = w.Write([]string{r.Name, r.Title})
		}
		w.Flush()
		return w.Error()
	}
	return c.Print(wire.Page[wire.Report]{Items: all}, func(w io.Writer) {
		g := show.New(w, "report", "what it answers")
		for _, r := range all {
			g.Row(r.Name, r.Title)
		}
		g.Flush()
	})
}

// writeReport prints a report for people: numbers to the right, what is unknown as a dash.
func writeReport(w io.Writer, t wire.Table) {
	if !t.Now {
		const minute = "2006-01-02 15:04"
		fmt.Fprintf(w, "%s, from %s to %s\n\n", t.Title, t.From.UTC().Format(minute), t.Until.UTC().Format(minute+" MST"))
	}
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = show.Pick(c.Numeric, ">", "") + strings.ReplaceAll(c.Name, "_", " ")
	}
	g := show.New(w, heads...)
	for _, row := range t.Rows {
		cells := make([]any, len(row))
		for i, cell := range row {
			if cells[i] = "-"; cell != nil && *cell != "" {
				cells[i] = *cell
			}
		}
		g.Row(cells...)
	}
	g.Flush()
}

// writeReportCSV prints it for programs: names of columns first, nothing where something is unknown.
func writeReportCSV(out io.Writer, t wire.Table) error {
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
