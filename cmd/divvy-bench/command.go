package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/build"
)

// benchFlags are those of 'divvy-bench'.
type benchFlags struct {
	only     []string
	list     bool
	quick    bool
	json     bool
	strict   bool
	floor    float64
	reached  bool
	database string
	rounds   int
	ids      bool
	sizes    suite.Sizes // hidden: for tests and for trying things out
	verbose  bool
	profile  string // hidden: see make profile
}

func benchCommand(c *cli.CLI) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:     "divvy-bench",
		Version: build.Version(),
		Short:   "Measure this machine: floors of PostgreSQL and HTTP, and divvy beside them",
		Long: `Measure divvy against what PostgreSQL, HTTP and PanDA's way reach on this machine in the same minutes.

A private PostgreSQL with durable commits, a database of its own, a million ready jobs, the daemon as it is, and a
load process. Floor and candidate take turns; each figure is the median of the rounds beside its target. Afterwards
everything is counted again: a run that claimed a job twice or lost one prints no figure.
With --database the same in a new database on your server, which is dropped in the end; no other one is touched.

Exit code 0, also below target, unless --strict says otherwise; 1 when a check failed. See docs/performance.md.`,
		Example: "  divvy-bench --quick\n  divvy-bench --only S1,S2 --rounds 5\n  divvy-bench --strict --floor 0.7 --json",
		Args:    cli.Takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBench(c, cmd, f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "measurements, such as S1,S2 (default: all)")
	fl.BoolVar(&f.list, "list", false, "list the measurements and end")
	fl.BoolVar(&f.quick, "quick", false, "rounds of a second, and what takes long at a twentieth of its size: about two minutes on an idle machine")
	fl.BoolVar(&f.json, "json", false, "the whole report as JSON")
	fl.BoolVar(&f.strict, "strict", false, "exit code 1 when a figure is below its target, or could not be measured")
	fl.Float64Var(&f.floor, "floor", 1, "with --strict: the part of a target that has to be reached")
	fl.BoolVar(&f.reached, "reached", false, "with --strict: where docs/performance.md reports less than the target, that counts instead")
	fl.StringVar(&f.database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	fl.IntVar(&f.rounds, "rounds", 3, "rounds of every measurement")
	fl.BoolVar(&f.ids, "request-ids", false, "every pull names a request id, as pilots do that want to repeat it safely")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of the daemon")
	fl.IntVar(&f.sizes.Ready, "ready", 0, "ready jobs")
	fl.IntVar(&f.sizes.Held, "held", 0, "held jobs")
	fl.IntVar(&f.sizes.Pullers, "pullers", 0, "concurrent pulls")
	fl.IntVar(&f.sizes.Inputs, "inputs", 0, "inputs of a submission")
	fl.IntVar(&f.sizes.Wakes, "wakes", 0, "jobs that wake a long poll")
	fl.IntVar(&f.sizes.Snapshot, "snapshot", 0, "claims while a snapshot is held open")
	fl.IntVar(&f.sizes.Renewed, "renewed", 0, "leases that are renewed beside claims")
	fl.IntVar(&f.sizes.Growth.Daemons, "daemons", 0, "daemons that work together in S5 (default 4)")
	fl.IntVar(&f.sizes.Growth.Polls, "polls", 0, "long polls while the daemon is weighed")
	fl.DurationVar(&f.sizes.Round, "round", 0, "length of one side of a round")
	fl.StringVar(&f.profile, "profile", "", "folder for profiles and flame graphs of the claims")
	for _, name := range []string{"profile", "ready", "held", "pullers", "inputs", "wakes", "snapshot", "renewed", "polls", "round"} {
		_ = fl.MarkHidden(name)
	}
	cmd.AddCommand(benchDayCommand(c), benchHistoryCommand(c), benchMonthCommand(c), benchOutgrowCommand(c), benchLoadCommand(c), benchServeCommand(c))
	return cmd
}

// benchLoadCommand is the load process of a bench. It is hidden: no promise is made about it.
func benchLoadCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "load", Short: "The load process of divvy-bench", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return suite.Load(cmd.Context(), c.In, c.Out) },
	}
}

// benchServeCommand is a daemon of a bench in a process of its own, hidden as well.
func benchServeCommand(c *cli.CLI) *cobra.Command {
	var pprof string
	var lease time.Duration
	cmd := &cobra.Command{
		Use: "serve", Short: "A daemon of divvy-bench", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			return suite.Daemon(cmd.Context(), c.In, c.Out, benchDaemon(log, pprof, lease))
		},
	}
	cmd.Flags().StringVar(&pprof, "pprof", "", "address for profiles")
	cmd.Flags().DurationVar(&lease, "lease", longLease, "how long a lease lasts that nobody renews")
	return cmd
}

func runBench(c *cli.CLI, cmd *cobra.Command, f benchFlags) error {
	if f.json {
		c.Output = "json"
	}
	if f.list {
		return c.Print(suite.Measurements(), writeMeasurements)
	}
	if !f.strict && (cmd.Flags().Changed("floor") || f.reached) {
		return fail.Usagef("--floor and --reached mean nothing without --strict")
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: level}))
	report, err := suite.Run(cmd.Context(), suite.Config{
		Only: f.only, Sizes: f.resolve(), Database: f.database, Serve: benchDaemon(log, "", longLease),
		LoadCommand: []string{binary, "load"}, DaemonCommand: []string{binary, "serve"}, Profile: f.profile, Progress: c.Err, Log: log,
	})
	if err != nil {
		return err
	}
	if err := printReport(c, report); err != nil {
		return err
	}
	if f.strict && len(report.Skipped) > 0 {
		fmt.Fprintf(c.Err, "divvy-bench: %s was not measured\n", report.Skipped[0].ID)
		return fail.ErrSilent
	}
	if f.reached {
		report = report.Known()
	}
	if worst, ok := report.Worst(); f.strict && ok && worst.Attained() < f.floor {
		fmt.Fprintf(c.Err, "divvy-bench: %s reaches %.0f %% of its target, less than %.0f %%\n", worst.ID, 100*worst.Attained(), 100*f.floor)
		return fail.ErrSilent
	}
	return nil
}

func printReport(c *cli.CLI, report *suite.Report) error {
	return c.Print(report, func(w io.Writer) {
		report.Lines(w)
		report.Details(w)
	})
}

// resolve is the sizes that the flags ask for.
func (f benchFlags) resolve() suite.Sizes {
	s := suite.Base()
	if f.quick {
		s = suite.Quick()
	}
	s.Rounds, s.RequestIDs = f.rounds, f.ids
	for _, over := range []struct {
		to   *int
		with int
	}{{&s.Ready, f.sizes.Ready}, {&s.Held, f.sizes.Held}, {&s.Pullers, f.sizes.Pullers}, {&s.Inputs, f.sizes.Inputs}, {&s.Wakes, f.sizes.Wakes},
		{&s.Snapshot, f.sizes.Snapshot}, {&s.Renewed, f.sizes.Renewed}} {
		if over.with > 0 {
			*over.to = over.with
		}
	}
	if f.sizes.Ready > 0 || f.sizes.Held > 0 {
		s.Growth = suite.GrowthOf(s.Ready, s.Held)
	}
	if f.sizes.Growth.Daemons > 0 {
		s.Growth.Daemons = f.sizes.Growth.Daemons
	}
	if f.sizes.Growth.Polls > 0 {
		s.Growth.Polls = f.sizes.Growth.Polls
	}
	if f.sizes.Round > 0 {
		s.Round = f.sizes.Round
	}
	return s
}

// longLease outlives a run: nobody renews the held ones.
const longLease = 12 * time.Hour

// benchDaemon is the daemon with its defaults, but for how long leases last.
func benchDaemon(log *slog.Logger, pprof string, lease time.Duration) func(context.Context, string) (suite.Served, error) {
	return func(ctx context.Context, dsn string) (suite.Served, error) {
		cfg := config.Defaults()
		cfg.Database.DSN, cfg.Listen, cfg.Pprof = dsn, "127.0.0.1:0", pprof
		cfg.Lease.First, cfg.Lease.TTL, cfg.Lease.Renew = lease, lease, min(lease/3, cfg.Lease.Renew)
		d := serve.New(cfg, log)
		if err := d.Start(ctx); err != nil {
			return suite.Served{}, err
		}
		return suite.Served{Dispatcher: d.Dispatcher(), URL: d.URL(), Stop: d.Stop}, nil
	}
}

func writeMeasurements(w io.Writer) {
	g := show.New(w, "", "what")
	for _, m := range suite.Measurements() {
		g.Row(m.ID, m.Title)
	}
	g.Flush()
}
