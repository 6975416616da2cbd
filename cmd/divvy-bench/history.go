package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// benchHistoryCommand is 'divvy-bench history'.
func benchHistoryCommand(c *cli.CLI) *cobra.Command {
	h := suite.HistoryOf()
	var asJSON bool
	var database string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "What millions of ended jobs cost those that live",
		Long: `Measure whole lives of jobs over HTTP in a new database, then with the history of two months behind it, which is
generated, then while that history is dropped day by day. The live tables are weighed each time.

A hundred million ended jobs take 25 GB of disk and a quarter of an hour or more.`,
		Example: "  divvy-bench history --ended 5000000\n  divvy-bench history",
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			if asJSON {
				c.Output = "json"
			}
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			report, err := suite.RunHistory(cmd.Context(), suite.HistoryConfig{History: h, Database: database, Progress: c.Err, Log: log,
				Serve: benchDaemon(log, "", longLease), LoadCommand: []string{binary, "load"}})
			if err != nil {
				return err
			}
			return printReport(c, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "the whole report as JSON")
	fl.StringVar(&database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	fl.IntVar(&h.Ended, "ended", h.Ended, "jobs that are over")
	fl.IntVar(&h.Days, "days", h.Days, "days over which they are spread")
	fl.IntVar(&h.Ready, "ready", h.Ready, "ready jobs")
	fl.IntVar(&h.Pullers, "pullers", h.Pullers, "four times the connections")
	fl.IntVar(&h.Rounds, "rounds", h.Rounds, "rounds of every measurement")
	fl.DurationVar(&h.Round, "round", h.Round, "length of one")
	return cmd
}
