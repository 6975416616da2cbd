package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// benchDayCommand is 'divvy-bench day'.
func benchDayCommand(c *cli.CLI) *cobra.Command {
	day := suite.DayOf()
	var short, asJSON bool
	var database, plot string
	cmd := &cobra.Command{
		Use:   "day",
		Short: "A day of a large site in fast motion, counted to the last job",
		Long: `Let a day of a large site go by in fast motion: a daemon in a process of its own, pilots on all slots over HTTP, a
private PostgreSQL with durable commits. Jobs end, fail and are lost with their pilots; of ten shares one runs out of
work and one has it in bursts. A few times nothing ends for a moment, and every share is compared with its target.

In the end every attempt that a pilot was given must be known to the database as the pilot knows it, the jobs of every
task cover its input exactly once, and the counts agree with a recount: else exit code 1 and no figure.

Every ten minutes of the day memory, tables, dead rows and how long pulls took are sampled: the trend of the last three
quarters says whether they stayed flat, and --plot draws them.`,
		Example: "  divvy-bench day --short\n  divvy-bench day --plot docs\n  divvy-bench day --slots 60000 --speed 200",
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			if asJSON {
				c.Output = "json"
			}
			if short {
				day = suite.ShortDay()
			}
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			report, err := suite.RunDay(cmd.Context(), suite.DayConfig{Day: day, Database: database, Progress: c.Err, Log: log,
				DaemonCommand: []string{binary, "serve", "--lease", day.Lease.String()}})
			if err != nil {
				return err
			}
			if err := printReport(c, report); err != nil || plot == "" {
				return err
			}
			return plotDay(plot, report)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&plot, "plot", "", "folder for what was sampled: day.csv, and day.svg drawn of it")
	fl.BoolVar(&short, "short", false, "a small site in half a minute, in place of all flags below")
	fl.BoolVar(&asJSON, "json", false, "the whole report as JSON")
	fl.StringVar(&database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	fl.IntVar(&day.Slots, "slots", day.Slots, "slots of one core, all queues together")
	fl.IntVar(&day.Queues, "queues", day.Queues, "queues, of the same size")
	fl.Float64Var(&day.Speed, "speed", day.Speed, "seconds of the day in a second")
	fl.DurationVar(&day.Length, "length", day.Length, "of the day")
	fl.DurationVar(&day.MeanJob, "mean-job", day.MeanJob, "mean length of a job")
	fl.Float64Var(&day.Fail, "fail", day.Fail, "part of the attempts that fail")
	fl.Float64Var(&day.Lose, "lose", day.Lose, "part of the attempts that are lost with their pilot")
	fl.Uint64Var(&day.Seed, "seed", day.Seed, "of the random numbers")
	return cmd
}
