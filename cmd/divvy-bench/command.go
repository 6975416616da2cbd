package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/build"
)

// lab is what the commands have in common.
type lab struct {
	*cli.CLI
	json     bool
	database string
	verbose  bool
	lease    time.Duration // of the daemons
}

// flags adds those of every command that measures.
func (l *lab) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cli.Takes()
	cmd.Flags().BoolVar(&l.json, "json", false, "the whole report as JSON")
	return cmd
}

// onServer adds the flag of a command that measures on a server of one's own, too.
func (l *lab) onServer(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&l.database, "database", "", "DSN of your own server; a database is made on it and dropped again")
	return l.flags(cmd)
}

// report measures and prints what came out.
func (l *lab) report(measure func(stage.Config) (*figure.Report, error)) (*figure.Report, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if l.json {
		l.Output = "json"
	}
	level := slog.LevelWarn
	if l.verbose {
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(l.Err, &slog.HandlerOptions{Level: level}))
	report, err := measure(stage.Config{Database: l.database, Serve: daemon(log, "", longLease), Load: []string{binary, "load"},
		Daemon: []string{binary, "serve", "--lease", l.lease.String()}, Progress: l.Err, Log: log})
	if err != nil {
		return nil, err
	}
	return report, l.Print(report, func(w io.Writer) {
		report.Lines(w)
		report.Details(w)
	})
}

// suiteFlags are those of 'divvy-bench' itself.
type suiteFlags struct {
	only    []string
	list    bool
	quick   bool
	strict  bool
	floor   float64
	reached bool
	sizes   suite.Sizes
	profile string // hidden: see make profile
}

func benchCommand(c *cli.CLI) *cobra.Command {
	l, f := &lab{CLI: c, lease: longLease}, suiteFlags{}
	cmd := l.onServer(&cobra.Command{
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, l) },
	})
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "measurements, such as S1,S2 (default: all)")
	fl.BoolVar(&f.list, "list", false, "list the measurements and end")
	fl.BoolVar(&f.quick, "quick", false, "rounds of a second, and what takes long at a twentieth of its size: about two minutes on an idle machine")
	fl.BoolVar(&f.strict, "strict", false, "exit code 1 when a figure is below its target, or could not be measured")
	fl.Float64Var(&f.floor, "floor", 1, "with --strict: the part of a target that has to be reached")
	fl.BoolVar(&f.reached, "reached", false, "with --strict: where docs/performance.md reports less than the target, that counts instead")
	fl.IntVar(&f.sizes.Rounds, "rounds", 3, "rounds of every measurement")
	fl.BoolVar(&f.sizes.RequestIDs, "request-ids", false, "every pull names a request id, as pilots do that want to repeat it safely")
	fl.BoolVarP(&l.verbose, "verbose", "v", false, "show the log of the daemon")
	fl.IntVar(&f.sizes.Growth.Daemons, "daemons", 0, "daemons that work together in S5 (default 4)")
	// For tests and for trying things out.
	for _, n := range []struct {
		name, usage string
		to          *int
	}{{"ready", "ready jobs", &f.sizes.Ready}, {"held", "held jobs", &f.sizes.Held}, {"pullers", "concurrent pulls", &f.sizes.Pullers},
		{"inputs", "inputs of a submission", &f.sizes.Inputs}, {"wakes", "jobs that wake a long poll", &f.sizes.Wakes},
		{"snapshot", "claims while a snapshot is held open", &f.sizes.Snapshot}, {"renewed", "leases that are renewed beside claims", &f.sizes.Renewed},
		{"polls", "long polls while the daemon is weighed", &f.sizes.Growth.Polls}} {
		fl.IntVar(n.to, n.name, 0, n.usage)
		_ = fl.MarkHidden(n.name)
	}
	fl.DurationVar(&f.sizes.Round, "round", 0, "length of one side of a round")
	fl.StringVar(&f.profile, "profile", "", "folder for profiles and flame graphs of the claims")
	_, _ = fl.MarkHidden("round"), fl.MarkHidden("profile")
	cmd.AddCommand(dayCommand(c), historyCommand(c), monthCommand(c), outgrowCommand(c), loadCommand(c), serveCommand(c))
	return cmd
}

func (f suiteFlags) run(cmd *cobra.Command, l *lab) error {
	if f.list {
		if l.json {
			l.Output = "json"
		}
		return l.Print(suite.Measurements(), writeMeasurements)
	}
	if !f.strict && (cmd.Flags().Changed("floor") || f.reached) {
		return fail.Usagef("--floor and --reached mean nothing without --strict")
	}
	report, err := l.report(func(cfg stage.Config) (*figure.Report, error) {
		return suite.Run(cmd.Context(), suite.Config{Config: cfg, Only: f.only, Sizes: f.resolve(), Profile: f.profile})
	})
	if err != nil {
		return err
	}
	if f.strict && len(report.Skipped) > 0 {
		fmt.Fprintf(l.Err, "divvy-bench: %s was not measured\n", report.Skipped[0].ID)
		return fail.ErrSilent
	}
	if f.reached {
		report = report.Known(suite.Reached)
	}
	if worst, ok := report.Worst(); f.strict && ok && worst.Attained() < f.floor {
		fmt.Fprintf(l.Err, "divvy-bench: %s reaches %.0f %% of its target, less than %.0f %%\n", worst.ID, 100*worst.Attained(), 100*f.floor)
		return fail.ErrSilent
	}
	return nil
}

// resolve is the sizes that the flags ask for: those that they name, over those of the run.
func (f suiteFlags) resolve() suite.Sizes {
	s := suite.Base()
	if f.quick {
		s = suite.Quick()
	}
	s.Rounds, s.RequestIDs = f.sizes.Rounds, f.sizes.RequestIDs
	over(&s.Ready, f.sizes.Ready)
	over(&s.Held, f.sizes.Held)
	over(&s.Pullers, f.sizes.Pullers)
	over(&s.Inputs, f.sizes.Inputs)
	over(&s.Wakes, f.sizes.Wakes)
	over(&s.Snapshot, f.sizes.Snapshot)
	over(&s.Renewed, f.sizes.Renewed)
	over(&s.Round, f.sizes.Round)
	if f.sizes.Ready > 0 || f.sizes.Held > 0 {
		s.Growth = suite.GrowthOf(s.Ready, s.Held)
	}
	over(&s.Growth.Daemons, f.sizes.Growth.Daemons)
	over(&s.Growth.Polls, f.sizes.Growth.Polls)
	return s
}

// over sets what was named.
func over[N int | time.Duration](to *N, with N) {
	if with > 0 {
		*to = with
	}
}

func writeMeasurements(w io.Writer) {
	g := show.New(w, "", "what")
	for _, m := range suite.Measurements() {
		g.Row(m.ID, m.Title)
	}
	g.Flush()
}

// loadCommand is the load process of a bench. It is hidden: no promise is made about it.
func loadCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "load", Short: "The load process of divvy-bench", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return load.Run(cmd.Context(), c.In, c.Out) },
	}
}

// serveCommand is a daemon of a bench in a process of its own, hidden as well.
func serveCommand(c *cli.CLI) *cobra.Command {
	var pprof string
	var lease time.Duration
	cmd := &cobra.Command{
		Use: "serve", Short: "A daemon of divvy-bench", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			return stage.Daemon(cmd.Context(), c.In, c.Out, daemon(log, pprof, lease))
		},
	}
	cmd.Flags().StringVar(&pprof, "pprof", "", "address for profiles")
	cmd.Flags().DurationVar(&lease, "lease", longLease, "how long a lease lasts that nobody renews")
	return cmd
}

// longLease outlives a run, since held jobs are not renewed.
const longLease = 12 * time.Hour

// daemon is the daemon with its defaults, but for how long leases last.
func daemon(log *slog.Logger, pprof string, lease time.Duration) func(context.Context, string) (stage.Served, error) {
	return func(ctx context.Context, dsn string) (stage.Served, error) {
		cfg := config.Defaults()
		cfg.Database.DSN, cfg.Listen, cfg.Pprof = dsn, "127.0.0.1:0", pprof
		cfg.Lease.First, cfg.Lease.TTL, cfg.Lease.Renew = lease, lease, min(lease/3, cfg.Lease.Renew)
		d := serve.New(cfg, log)
		if err := d.Start(ctx); err != nil {
			return stage.Served{}, err
		}
		return stage.Served{Dispatcher: d.Dispatcher(), URL: d.URL(), Stop: d.Stop}, nil
	}
}
