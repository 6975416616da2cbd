package main

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/bench"
)

// benchMonthCommand is 'divvy-bench month'.
func benchMonthCommand(c *cli.CLI) *cobra.Command {
	m := bench.MonthOf()
	var asJSON bool
	var database, page string
	cmd := &cobra.Command{
		Use:   "month",
		Short: "What reports take with a month of history",
		Long: `Generate a month of ended attempts in a new database, add them to the roll-ups, compare these with a recount, and time
every report for the last day; with --questions the statements of docs/reporting.md too.

Thirty million attempts take 15 GB of disk and half an hour or more.`,
		Example: "  divvy-bench month --jobs 2000000 --yesterday 1000000 --questions docs/reporting.md",
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			questions, err := questionsOf(page)
			if err != nil {
				return err
			}
			if asJSON {
				c.Output = "json"
			}
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			report, err := bench.RunMonth(cmd.Context(), bench.MonthConfig{Month: m, Database: database, Questions: questions, Progress: c.Err, Log: log})
			if err != nil {
				return err
			}
			return printReport(c, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "the whole report as JSON")
	fl.StringVar(&database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	fl.StringVar(&page, "questions", "", "a page whose blocks of SQL are timed too: docs/reporting.md")
	fl.IntVar(&m.Jobs, "jobs", m.Jobs, "attempts of all days but the last")
	fl.IntVar(&m.Yesterday, "yesterday", m.Yesterday, "attempts of the last day")
	fl.IntVar(&m.Days, "days", m.Days, "days")
	fl.IntVar(&m.Rounds, "rounds", m.Rounds, "rounds of every report")
	return cmd
}

var question = regexp.MustCompile("(?s)### ([^\n]*)\n[^#]*?```sql\n(.*?)```")

// questionsOf are the statements of a page, numbered in its order.
func questionsOf(page string) (map[string]string, error) {
	if page == "" {
		return nil, nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i, m := range question.FindAllStringSubmatch(string(text), -1) {
		all[fmt.Sprintf("%02d %s", i+1, m[1])] = strings.TrimSpace(m[2])
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no question: a heading ###, and a block of sql", page)
	}
	return all, nil
}
