package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// benchMonthCommand is 'divvy-bench month'.
func benchMonthCommand(c *cli.CLI) *cobra.Command {
	m := suite.MonthOf()
	var asJSON bool
	var database, file string
	cmd := &cobra.Command{
		Use:   "month",
		Short: "What reports take with a month of history",
		Long: `Generate a month of ended attempts in a new database, add them to the roll-ups, compare these with a recount, and time
every report for the last day; with --questions the statements of docs/examples/questions.sql too.

Thirty million attempts take 15 GB of disk and half an hour or more.`,
		Example: "  divvy-bench month --jobs 2000000 --yesterday 1000000 --questions docs/examples/questions.sql",
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			questions, err := questionsOf(file)
			if err != nil {
				return err
			}
			if asJSON {
				c.Output = "json"
			}
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			report, err := suite.RunMonth(cmd.Context(), suite.MonthConfig{Month: m, Database: database, Questions: questions, Progress: c.Err, Log: log})
			if err != nil {
				return err
			}
			return printReport(c, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "the whole report as JSON")
	fl.StringVar(&database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	fl.StringVar(&file, "questions", "", "a file of questions that are timed too: docs/examples/questions.sql")
	fl.IntVar(&m.Jobs, "jobs", m.Jobs, "attempts of all days but the last")
	fl.IntVar(&m.Yesterday, "yesterday", m.Yesterday, "attempts of the last day")
	fl.IntVar(&m.Days, "days", m.Days, "days")
	fl.IntVar(&m.Rounds, "rounds", m.Rounds, "rounds of every report")
	return cmd
}

// questionsOf returns the statements of a file by question, numbered in its order. An empty line ends a statement; its first comment
// is the question.
func questionsOf(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, statement := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		line, _, _ := strings.Cut(statement, "\n")
		if question, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(statement, ";") {
			all[fmt.Sprintf("%02d %s", len(all)+1, question)] = statement
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no question: a comment, and a statement behind it", file)
	}
	return all, nil
}
