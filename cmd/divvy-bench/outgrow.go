package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// benchOutgrowCommand is 'divvy-bench outgrow'.
func benchOutgrowCommand(c *cli.CLI) *cobra.Command {
	o := suite.OutgrowOf()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "outgrow",
		Short: "What a job costs a database, and reports on a replica",
		Long: `Measure what each step in the life of a job costs: bytes of tables and indexes, WAL, processor time of PostgreSQL and of the daemon.
Then whole lives beside reports that are read all the time: none, on the same server, on a streaming replica on this machine.

It works on a private PostgreSQL with durable commits. docs/outgrow.md has what follows from the figures.`,
		Example: "  divvy-bench outgrow\n  divvy-bench outgrow --jobs 50000 --rounds 1",
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
			report, err := suite.RunOutgrow(cmd.Context(), suite.OutgrowConfig{Outgrow: o, DaemonCommand: []string{binary, "serve"}, Progress: c.Err, Log: log})
			if err != nil {
				return err
			}
			return printReport(c, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "the whole report as JSON")
	fl.IntVar(&o.Jobs, "jobs", o.Jobs, "jobs that are weighed")
	fl.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes that pull at the same time")
	fl.IntVar(&o.Batch, "batch", o.Batch, "jobs that a node takes at once")
	fl.IntVar(&o.Rounds, "rounds", o.Rounds, "rounds of whole lives beside reports")
	fl.DurationVar(&o.Round, "round", o.Round, "length of each side of a round")
	return cmd
}
