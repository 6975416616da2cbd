package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/day"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/history"
	"github.com/divvyhq/divvy/cmd/divvy-bench/month"
	"github.com/divvyhq/divvy/cmd/divvy-bench/outgrow"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// dayCommand is 'divvy-bench day'.
func dayCommand(c *cli.CLI) *cobra.Command {
	l, d := &lab{CLI: c}, day.Large()
	var short bool
	var plot string
	cmd := l.onServer(&cobra.Command{
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if short {
				d = day.Short()
			}
			l.lease = d.Lease
			report, err := l.report(func(cfg stage.Config) (*figure.Report, error) { return day.Run(cmd.Context(), cfg, d) })
			if err != nil || plot == "" {
				return err
			}
			return plotDay(plot, report)
		},
	})
	fl := cmd.Flags()
	fl.StringVar(&plot, "plot", "", "folder for what was sampled: day.csv, and day.svg drawn of it")
	fl.BoolVar(&short, "short", false, "a small site in half a minute, in place of all flags below")
	fl.IntVar(&d.Slots, "slots", d.Slots, "slots of one core, all queues together")
	fl.IntVar(&d.Queues, "queues", d.Queues, "queues, of the same size")
	fl.Float64Var(&d.Speed, "speed", d.Speed, "seconds of the day in a second")
	fl.DurationVar(&d.Length, "length", d.Length, "of the day")
	fl.DurationVar(&d.MeanJob, "mean-job", d.MeanJob, "mean length of a job")
	fl.Float64Var(&d.Fail, "fail", d.Fail, "part of the attempts that fail")
	fl.Float64Var(&d.Lose, "lose", d.Lose, "part of the attempts that are lost with their pilot")
	fl.Uint64Var(&d.Seed, "seed", d.Seed, "of the random numbers")
	return cmd
}

// historyCommand is 'divvy-bench history'.
func historyCommand(c *cli.CLI) *cobra.Command {
	l, h := &lab{CLI: c}, history.Large()
	cmd := l.onServer(&cobra.Command{
		Use:   "history",
		Short: "What millions of ended jobs cost those that live",
		Long: `Measure whole lives of jobs over HTTP in a new database, then with the history of two months behind it, which is
generated, then while that history is dropped day by day. The live tables are weighed each time.

A hundred million ended jobs take 25 GB of disk and a quarter of an hour or more.`,
		Example: "  divvy-bench history --ended 5000000\n  divvy-bench history",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := l.report(func(cfg stage.Config) (*figure.Report, error) { return history.Run(cmd.Context(), cfg, h) })
			return err
		},
	})
	fl := cmd.Flags()
	fl.IntVar(&h.Ended, "ended", h.Ended, "jobs that are over")
	fl.IntVar(&h.Days, "days", h.Days, "days over which they are spread")
	fl.IntVar(&h.Ready, "ready", h.Ready, "ready jobs")
	fl.IntVar(&h.Pullers, "pullers", h.Pullers, "four times the connections")
	fl.IntVar(&h.Rounds, "rounds", h.Rounds, "rounds of every measurement")
	fl.DurationVar(&h.Round, "round", h.Round, "length of one")
	return cmd
}

// monthCommand is 'divvy-bench month'.
func monthCommand(c *cli.CLI) *cobra.Command {
	l, m := &lab{CLI: c}, month.Large()
	var page string
	cmd := l.onServer(&cobra.Command{
		Use:   "month",
		Short: "What reports take with a month of history",
		Long: `Generate a month of ended attempts in a new database, add them to the roll-ups, compare these with a recount, and time
every report for the last day; with --questions the statements of docs/reporting.md too.

Thirty million attempts take 15 GB of disk and half an hour or more.`,
		Example: "  divvy-bench month --jobs 2000000 --yesterday 1000000 --questions docs/reporting.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			questions, err := questionsOf(page)
			if err != nil {
				return err
			}
			_, err = l.report(func(cfg stage.Config) (*figure.Report, error) { return month.Run(cmd.Context(), cfg, m, questions) })
			return err
		},
	})
	fl := cmd.Flags()
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

// outgrowCommand is 'divvy-bench outgrow'.
func outgrowCommand(c *cli.CLI) *cobra.Command {
	l, o := &lab{CLI: c, lease: longLease}, outgrow.Large()
	cmd := l.flags(&cobra.Command{
		Use:   "outgrow",
		Short: "What a job costs a database, and reports on a replica",
		Long: `Measure what each step in the life of a job costs: bytes of tables and indexes, WAL, processor time of PostgreSQL and of the daemon.
Then whole lives beside reports that are read all the time: none, on the same server, on a streaming replica on this machine.

It works on a private PostgreSQL with durable commits. docs/outgrow.md has what follows from the figures.`,
		Example: "  divvy-bench outgrow\n  divvy-bench outgrow --jobs 50000 --rounds 1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := l.report(func(cfg stage.Config) (*figure.Report, error) { return outgrow.Run(cmd.Context(), cfg, o) })
			return err
		},
	})
	fl := cmd.Flags()
	fl.IntVar(&o.Jobs, "jobs", o.Jobs, "jobs that are weighed")
	fl.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes that pull at the same time")
	fl.IntVar(&o.Batch, "batch", o.Batch, "jobs that a node takes at once")
	fl.IntVar(&o.Rounds, "rounds", o.Rounds, "rounds of whole lives beside reports")
	fl.DurationVar(&o.Round, "round", o.Round, "length of each side of a round")
	return cmd
}
